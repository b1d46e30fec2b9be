"""Control flow that cannot become a graph: loops, branches, recursion, iterators, context managers."""

from d2s.catalogue.kind import Family

syntax = Family("UnsupportedSyntaxError")

KINDS = (
    syntax(
        "U06",
        "May raise inside of try",
        cause="Something that may raise anything when the Program runs stands inside of a `try`, and it is not known "
        "what that catches; or an untraced call has raised an exception of a class that neither the handler nor the "
        "code called names, and the handler gives it a name, so that it could look at it.",
        fix="Catch exactly this exception, or without `as`; or do it before the `try`, or keep the function eager.",
        example="""
            import json

            @paddle.jit.not_to_static
            def parsed(text):
                return json.loads(text)

            @paddle.jit.to_static
            def f(x, text):
                try:
                    return x * parsed(text)
                except ValueError as error:
                    print(error)
                    return x

            f(paddle.ones([1]), "{")
        """,
        fixed="""
            import json

            @paddle.jit.not_to_static
            def parsed(text):
                return json.loads(text)

            @paddle.jit.to_static
            def f(x, text):
                try:
                    return x * parsed(text)
                except ValueError:
                    return x

            f(paddle.ones([1]), "{")
        """,
    ),
    syntax(
        "U07",
        "Recursion that ends on a tensor",
        cause="The function calls itself until a tensor has some value: how deep is known only when the Program runs.",
        fix="Write it as a `while` loop.",
        example="""
            @paddle.jit.to_static
            def halve(x):
                if x.sum() > 1:
                    return halve(x / 2)
                return x

            halve(paddle.to_tensor([8.0]))
        """,
        fixed="""
            @paddle.jit.to_static
            def halve(x):
                while x.sum() > 1:
                    x = x / 2
                return x

            halve(paddle.to_tensor([8.0]))
        """,
    ),
    syntax(
        "U11",
        "Too many ways through the code",
        cause="Branches on tensors leave Python objects that cannot be merged into one value (one of two lists, "
        "different functions), so every way is followed to its end; there are too many.",
        fix="Use tensor operators such as `where`, or let the branches change numbers, tensors and lists.",
        example="""
            @paddle.jit.to_static
            def sorted_out(x):
                small, large = [], []
                for i in range(12):
                    (large if x[i] > 0 else small).append(i)
                return small, large

            sorted_out(paddle.ones([12]))
        """,
        fixed="""
            @paddle.jit.to_static
            def sorted_out(x):
                small, large = [], []
                for i in range(12):
                    if x[i] > 0:
                        large.append(i)
                    else:
                        small.append(i)
                return small, large

            sorted_out(paddle.ones([12]))
        """,
    ),
    syntax(
        "U15",
        "An iterator from outside",
        cause="The trace would use up the iterator, and the next call would find nothing in it.",
        fix="Pass a list of its items.",
        example="""
            @paddle.jit.to_static
            def total(numbers, x):
                for number in numbers:
                    x = x + number
                return x

            total(iter([1, 2]), paddle.zeros([1]))
        """,
        fixed="""
            @paddle.jit.to_static
            def total(numbers, x):
                for number in numbers:
                    x = x + number
                return x

            total([1, 2], paddle.zeros([1]))
        """,
    ),
    syntax(
        "U16",
        "An iterator is advanced in code that is traced several times",
        cause="Both ways of a branch on a tensor, and the turns of a loop on one, are traced more than once, and a "
        "generator cannot be put back. Iterators over lists, tuples, ranges, texts and tensors can.",
        fix="Use a list and an iterator over it, a variable of the loop, or make the generator in the turn.",
        example="""
            @paddle.jit.to_static
            def f(x):
                numbers = (2 ** k for k in range(9))
                while x.sum() > 1:
                    x = x / 2 - next(numbers)
                return x

            f(paddle.to_tensor([8.0]))
        """,
        fixed="""
            @paddle.jit.to_static
            def f(x):
                numbers = iter([2 ** k for k in range(9)])
                while x.sum() > 1:
                    x = x / 2 - next(numbers)
                return x

            f(paddle.to_tensor([8.0]))
        """,
    ),
    syntax(
        "U17",
        "A Python loop without end",
        cause="A `for` over an endless iterator other than `itertools.count()` whose `break` depends on a tensor.",
        fix="Write it as `while` with a counter, or loop over `itertools.count()`.",
        example="""
            import itertools

            @paddle.jit.to_static
            def f(x):
                for _ in itertools.repeat(None):
                    if x.sum() < 1:
                        break
                    x = x / 2
                return x

            f(paddle.to_tensor([8.0]))
        """,
        fixed="""
            import itertools

            @paddle.jit.to_static
            def f(x):
                for _ in itertools.count():
                    if x.sum() < 1:
                        break
                    x = x / 2
                return x

            f(paddle.to_tensor([8.0]))
        """,
    ),
    syntax(
        "U20",
        "A generator leaves the function",
        cause="A generator or iterator that was made inside of a static function is returned or stored. Its code "
        "would run after the Program.",
        fix="Make a list of it.",
        example="""
            @paddle.jit.to_static
            def rows(x):
                return (row for row in x)

            rows(paddle.ones([2, 2]))
        """,
        fixed="""
            @paddle.jit.to_static
            def rows(x):
                return [row for row in x]

            rows(paddle.ones([2, 2]))
        """,
    ),
    syntax(
        "U21",
        "A loop whose variables change their kind",
        cause="A loop on a tensor carries its variables from turn to turn: tensors, numbers, text, lists, dicts, sets, "
        "deques, tuples that grow, None that becomes a tensor, objects that are made anew, and what is None, a number, "
        "text or a tensor by turns. It cannot carry containers of several kinds.",
        fix="Give every variable one kind of value in all turns; collect in a list.",
        example="""
            @paddle.jit.to_static
            def halves(x):
                kept = [x]
                while x.sum() > 1:
                    x = x / 2
                    kept = {"x": x} if isinstance(kept, list) else [x]
                return kept

            halves(paddle.to_tensor([8.0]))
        """,
        fixed="""
            @paddle.jit.to_static
            def halves(x):
                kept, is_list = x, True
                while x.sum() > 1:
                    x = x / 2
                    kept, is_list = x, not is_list
                return [kept] if is_list else {"x": kept}

            halves(paddle.to_tensor([8.0]))
        """,
    ),
    syntax(
        "U32",
        "An optimizer of tensors made inside",
        cause="An optimizer is made in a static function, for tensors that this function makes. Its state would be new "
        "in each run.",
        fix="Make the tensors and the optimizer outside, and call `step()` inside.",
        example="""
            @paddle.jit.to_static
            def f(x):
                w = paddle.to_tensor([1.0], stop_gradient=False)
                optimizer = paddle.optimizer.SGD(0.1, parameters=[w])
                (w * x).sum().backward()
                optimizer.step()
                return w * x

            f(paddle.ones([1]))
        """,
        fixed="""
            w = paddle.to_tensor([1.0], stop_gradient=False)
            optimizer = paddle.optimizer.SGD(0.1, parameters=[w])

            @paddle.jit.to_static
            def f(x):
                (w * x).sum().backward()
                optimizer.step()
                return w * x

            f(paddle.ones([1]))
        """,
    ),
    syntax(
        "U33",
        "A container of which only the run knows which one it is",
        cause="A list, dict or object is changed after a loop on a tensor may have put another one in its place, or "
        "has put the object into a list. The change has to be seen under all names of what it is in the run.",
        fix="Change it before, make a new one, or use a tuple.",
        example="""
            @paddle.jit.to_static
            def f(x, n):
                first = last = {"v": x}
                for i in range(n):
                    last = {"v": x * i}
                last["v"] = x
                return first

            f(paddle.ones([1]), paddle.to_tensor(2))
        """,
        fixed="""
            @paddle.jit.to_static
            def f(x, n):
                first = last = {"v": x}
                for i in range(n):
                    last = {"v": x * i}
                last = {"v": x}
                return first

            f(paddle.ones([1]), paddle.to_tensor(2))
        """,
    ),
    syntax(
        "U34",
        "`stop_gradient` set in branches or turns",
        cause="`stop_gradient` of a tensor is set in a loop on a tensor whose turns hand the tensor on, or set to "
        "False on a constant that is kept elsewhere already. Which tensor it is, only the run knows.",
        fix="Use `detach()` where no gradient is wanted.",
        example="""
            @paddle.jit.to_static
            def f(x, n):
                first, second = x * 2, x * 3
                while n > 0:
                    first.stop_gradient = True
                    first, n = second, n - 1
                return first * x

            f(paddle.to_tensor([1.0], stop_gradient=False), paddle.to_tensor(2))
        """,
        fixed="""
            @paddle.jit.to_static
            def f(x, n):
                first, second = x * 2, x * 3
                while n > 0:
                    first, n = second, n - 1
                return first.detach() * x

            f(paddle.to_tensor([1.0], stop_gradient=False), paddle.to_tensor(2))
        """,
    ),
    syntax(
        "U35",
        "A key whose `__hash__` or `__eq__` acts",
        cause="A key of a dict or a member of a set has a `__hash__` or `__eq__` of yours that changes something or "
        "prints, or reads what the static function has changed before. Python's containers call it, which is while "
        "the function is traced.",
        fix="Use names or numbers as keys, or keep the function eager.",
        example="""
            class Key:
                def __hash__(self):
                    print("asked")
                    return 1

            @paddle.jit.to_static
            def f(x):
                return x * len({Key(): 2.0})

            f(paddle.ones([1]))
        """,
        fixed="""
            class Key:
                def __hash__(self):
                    return 1

            @paddle.jit.to_static
            def f(x):
                return x * len({Key(): 2.0})

            f(paddle.ones([1]))
        """,
    ),
    syntax(
        "U30",
        "What a hook may have changed during backward",
        cause="A hook runs when `backward()` is called inside of a static function, in the middle of the Program. What "
        "it puts into a bytearray, or into a container of a class of your own, is not known after that.",
        fix="Use it before `backward()`, let the hook write to a list, dict, set or attribute, or call `backward()` "
        "outside.",
        example="""
            class Seen(dict):
                pass

            @paddle.jit.to_static
            def f(x):
                seen = Seen()
                x.register_hook(lambda g: seen.update(g=g))
                (x * x).sum().backward()
                return seen["g"]

            f(paddle.to_tensor([1.0], stop_gradient=False))
        """,
        fixed="""
            @paddle.jit.to_static
            def f(x):
                seen = {}
                x.register_hook(lambda g: seen.update(g=g))
                (x * x).sum().backward()
                return seen["g"]

            f(paddle.to_tensor([1.0], stop_gradient=False))
        """,
    ),
    syntax(
        "U29",
        "All elements of a list that a loop has filled",
        cause="How long a list is that a loop on a tensor fills is known only when the Program runs. It can be looped "
        "over, indexed, unpacked, sorted, stacked, spread out in a call, changed and returned; it cannot be given to a "
        "lambda with `*`, to `zip(strict=True)`, or looped over in most generator expressions.",
        fix="Loop over it with `for`, or take single elements.",
        example="""
            @paddle.jit.to_static
            def total(x):
                seen = [x]
                while x.sum() > 1:
                    x = x / 2
                    seen.append(x)
                return sum(a * b for a, b in zip(seen, seen, strict=True))

            total(paddle.to_tensor([4.0]))
        """,
        fixed="""
            @paddle.jit.to_static
            def total(x):
                seen = [x]
                while x.sum() > 1:
                    x = x / 2
                    seen.append(x)
                return sum(seen)

            total(paddle.to_tensor([4.0]))
        """,
    ),
    syntax(
        "U25",
        "A context manager of the run",
        cause="What `with` enters is known only when the Program runs, for example an open file.",
        fix="Enter it outside of the static function.",
        example="""
            import os

            @paddle.jit.to_static
            def f(x):
                with open(os.devnull) as file:
                    return x

            f(paddle.ones([1]))
        """,
        fixed="""
            import os

            @paddle.jit.to_static
            def f(x):
                return x

            with open(os.devnull) as file:
                f(paddle.ones([1]))
        """,
    ),
    syntax(
        "U27",
        "async def",
        cause="A coroutine runs in pieces, at times that its event loop chooses; a Program runs at once.",
        fix="Convert a plain function that the coroutine calls.",
        example="""
            @paddle.jit.to_static
            async def f(x):
                return x
        """,
        fixed="""
            @paddle.jit.to_static
            def double(x):
                return 2 * x

            async def f(x):
                return double(x)
        """,
    ),
)

"""Failures of backward, of grad() and of gradient hooks."""

from d2s.catalogue.kind import Family

gradient, hook, leaf = Family("GradientError"), Family("HookError"), Family("LeafError")
anomaly = Family("AnomalyError")

KINDS = (
    gradient(
        "G01",
        "Backward a second time",
        cause="`backward` frees what the graph has kept, so that a second one through the same graph finds nothing.",
        fix="Pass `retain_graph=True` to the first one, or compute the loss again.",
        example="""
            x = paddle.to_tensor([1.0], stop_gradient=False)
            y = x * x
            y.backward()
            y.backward()
        """,
        fixed="""
            x = paddle.to_tensor([1.0], stop_gradient=False)
            y = x * x
            y.backward(retain_graph=True)
            y.backward()
        """,
    ),
    gradient(
        "G02",
        "Changed in place before backward",
        cause="A gradient needs the values that a tensor had, and a write in place has replaced them.",
        fix="Write to a clone, or write before the tensor is used.",
        example="""
            x = paddle.to_tensor([1.0], stop_gradient=False)
            y = x * 2
            z = y * y
            y.add_(paddle.ones([1]))
            z.backward()
        """,
        fixed="""
            x = paddle.to_tensor([1.0], stop_gradient=False)
            y = x * 2
            z = y * y
            y = y + 1
            z.backward()
        """,
    ),
    gradient(
        "G03",
        "Nothing requires a gradient",
        cause="A gradient was asked for a tensor that stops gradients: nothing it depends on has "
        "`stop_gradient=False`, or it was computed under `no_grad`.",
        fix="Set `stop_gradient=False` on the inputs before they are used.",
        example="""
            x = paddle.to_tensor([1.0])
            (2 * x).backward()
        """,
        fixed="""
            x = paddle.to_tensor([1.0], stop_gradient=False)
            (2 * x).backward()
        """,
    ),
    gradient(
        "G04",
        "An input that was not used",
        cause="`grad` was asked for a tensor on which the outputs do not depend.",
        fix="Pass `allow_unused=True` to get None for it, or leave it out.",
        example="""
            x = paddle.to_tensor([1.0], stop_gradient=False)
            y = paddle.to_tensor([1.0], stop_gradient=False)
            paddle.grad(2 * x, [x, y])
        """,
        fixed="""
            x = paddle.to_tensor([1.0], stop_gradient=False)
            y = paddle.to_tensor([1.0], stop_gradient=False)
            paddle.grad(2 * x, [x, y], allow_unused=True)
        """,
    ),
    gradient(
        "G05",
        "Backward from several elements",
        cause="`backward()` without a gradient begins with 1, which is right for one element only.",
        fix="Reduce the tensor (`sum`, `mean`), or pass `grad_tensor`.",
        example="""
            x = paddle.to_tensor([1.0, 2.0], stop_gradient=False)
            (2 * x).backward()
        """,
        fixed="""
            x = paddle.to_tensor([1.0, 2.0], stop_gradient=False)
            (2 * x).sum().backward()
        """,
    ),
    gradient(
        "G06",
        "A wrong number of gradients",
        cause="There must be one gradient for each tensor: for each output that is differentiated, and, in what the "
        "`backward` of a `PyLayer` returns, for each tensor that `forward` got.",
        fix="Give one gradient each; None stands for none.",
        example="""
            class Product(paddle.autograd.PyLayer):
                @staticmethod
                def forward(ctx, x, y):
                    return x * y

                @staticmethod
                def backward(ctx, g):
                    return g

            x = paddle.to_tensor([1.0], stop_gradient=False)
            Product.apply(x, x).backward()
        """,
        fixed="""
            class Product(paddle.autograd.PyLayer):
                @staticmethod
                def forward(ctx, x, y):
                    ctx.save_for_backward(x, y)
                    return x * y

                @staticmethod
                def backward(ctx, g):
                    x, y = ctx.saved_tensor()
                    return g * y, g * x

            x = paddle.to_tensor([1.0], stop_gradient=False)
            Product.apply(x, x).backward()
        """,
    ),
    gradient(
        "G07",
        "grad() with only_inputs=False",
        cause="`grad` computes the gradients of the tensors named, and writes no `.grad`.",
        fix="Use `backward()` to fill the `.grad` of all leaves.",
        example="""
            x = paddle.to_tensor([1.0], stop_gradient=False)
            paddle.grad(2 * x, [x], only_inputs=False)
        """,
    ),
    gradient(
        "G08",
        "A write to one of several views",
        cause="The parts that an operator with several outputs gives (`split`, `unbind`) are views of its input, and "
        "a write to one of them would have to change the history of all.",
        fix="Write to a clone of the part, or to `x[...]` of the input.",
        example="""
            x = paddle.to_tensor([1.0, 2.0], stop_gradient=False)
            a, b = paddle.split(2 * x, 2)
            a.add_(paddle.ones([1]))
        """,
        fixed="""
            x = paddle.to_tensor([1.0, 2.0], stop_gradient=False)
            a, b = paddle.split(2 * x, 2)
            a = a.clone()
            a.add_(paddle.ones([1]))
        """,
    ),
    gradient(
        "G09",
        "A tensor of a turn, before its loop has ended",
        cause="The test of a loop on a tensor calls code that is not traced, and that calls backward on a tensor "
        "that a turn has made. How gradients go through the loop is known in its turns and behind it.",
        fix="Call it in the turns, or keep the function eager.",
        example="""
            @paddle.jit.not_to_static
            def is_steep(x):
                x.backward(retain_graph=True)
                return x.item() > 1

            @paddle.jit.to_static
            def halves(x):
                while is_steep(x):
                    x = x / 2
                return x

            halves(paddle.to_tensor([8.0], stop_gradient=False))
        """,
    ),
    gradient(
        "G10",
        "A second derivative that there is not",
        cause="A gradient of a Program built by hand was to be differentiated again that was computed by Python code, "
        "or has gone back through a loop.",
        fix="Use a static function and `grad(..., create_graph=True)` outside of it, or compute eagerly.",
        example="""
            from d2s import static

            paddle.enable_static()
            x = static.data("x", [1])
            x.stop_gradient = False
            n = paddle.full([], 0, "int64")
            n, y = static.nn.while_loop(lambda n, y: n < 2, lambda n, y: (n + 1, y * x), [n, x * 1])
            (g,) = static.gradients([y], [x])
            static.gradients([g], [x])
        """,
        fixed="""
            @paddle.jit.to_static
            def f(x):
                y = x
                for _ in range(2):
                    y = y * x
                return y

            x = paddle.to_tensor([1.0], stop_gradient=False)
            (g,) = paddle.grad(f(x), [x], create_graph=True)
            paddle.grad(g, [x])
        """,
    ),
    gradient(
        "G11",
        "A gradient of something else",
        cause="`append_backward` and `gradients` differentiate variables of a Program; they got something else, for "
        "example a Tensor with values.",
        fix="In eager mode call `backward()` or `paddle.grad`.",
        example="""
            x = paddle.to_tensor([1.0], stop_gradient=False)
            paddle.static.gradients([2 * x], [x])
        """,
        fixed="""
            x = paddle.to_tensor([1.0], stop_gradient=False)
            paddle.grad([2 * x], [x])
        """,
    ),
    gradient(
        "G12",
        "A function that computes something else when it is run again",
        cause="`recompute` runs its function again in backward, and it did not do what it did the first time.",
        fix="Give it a function without state; draw random numbers from the generator of d2s only.",
        example="""
            sizes = iter([1, 2])
            x = paddle.to_tensor([1.0], stop_gradient=False)
            y = paddle.autograd.recompute(lambda x: (2 * x).expand([next(sizes)]), x)
            y.backward()
        """,
        fixed="""
            x = paddle.to_tensor([1.0], stop_gradient=False)
            y = paddle.autograd.recompute(lambda x: (2 * x).expand([1]), x)
            y.backward()
        """,
    ),
    gradient(
        "G13",
        "Second derivatives of a function with hooks that is run again",
        cause="Under `create_graph` the next backward runs the function of `recompute` once more, and each run would "
        "show its hooks a part of the gradient.",
        fix="Call the function without `recompute`, or register no hooks in it.",
        example="""
            def f(x):
                y = x * x
                y.register_hook(lambda g: g + 1)
                return y * x

            x = paddle.to_tensor([1.0], stop_gradient=False)
            paddle.grad(paddle.autograd.recompute(f, x), [x], create_graph=True)
        """,
        fixed="""
            def f(x):
                y = x * x
                y.register_hook(lambda g: g + 1)
                return y * x

            x = paddle.to_tensor([1.0], stop_gradient=False)
            paddle.grad(f(x), [x], create_graph=True)
        """,
    ),
    gradient(
        "G14",
        "A function to check that calls backward itself",
        cause="`check_grads` differentiates what the function returns, but a backward inside of it has used that up.",
        fix="Check the function that computes the loss, without its backward.",
        example="""
            def step(x):
                loss = (x * x).sum()
                loss.backward()
                return loss

            paddle.testing.check_grads(step, paddle.to_tensor([1.0]))
        """,
        fixed="""
            def loss_of(x):
                return (x * x).sum()

            paddle.testing.check_grads(loss_of, paddle.to_tensor([1.0]))
        """,
    ),
    gradient(
        "G15",
        "A norm of gradients that is not finite",
        cause="`clip_grad_norm_` with `error_if_nonfinite` has met NaN or infinity in a gradient.",
        fix="Look for its origin with `detect_anomaly`; a smaller learning rate helps often.",
        example="""
            x = paddle.to_tensor([0.0], stop_gradient=False)
            paddle.sqrt(x).backward()
            paddle.nn.utils.clip_grad_norm_([x], 1.0, error_if_nonfinite=True)
        """,
        fixed="""
            x = paddle.to_tensor([0.0], stop_gradient=False)
            paddle.sqrt(x + 1e-6).backward()
            paddle.nn.utils.clip_grad_norm_([x], 1.0, error_if_nonfinite=True)
        """,
    ),
    gradient(
        "G16",
        "A hook writes to what backward may need",
        cause="A hook has written in place, in a backward that is running, to one of several tensors of which the run "
        "has chosen one by a branch or a turn. The backward that was compiled for all runs does not know which.",
        fix="Write to it when backward has ended, or keep the function eager.",
        example="""
            x = paddle.to_tensor([1.0], stop_gradient=False)
            low, high = paddle.ones([1]), paddle.full([1], 2.0)

            @paddle.jit.to_static
            def f(x, low, high):
                scale = high if x > 0 else low
                y = x * scale
                y.register_hook(lambda g: low.add_(g) and None)
                return y

            f(x, low, high).backward()
        """,
        fixed="""
            x = paddle.to_tensor([1.0], stop_gradient=False)
            low, high, seen = paddle.ones([1]), paddle.full([1], 2.0), []

            @paddle.jit.to_static
            def f(x, low, high):
                scale = high if x > 0 else low
                y = x * scale
                y.register_hook(lambda g: seen.append(g))
                return y

            f(x, low, high).backward()
            low.add_(seen[0])
        """,
    ),
    gradient(
        "G17",
        "A write to a view of which nobody knows how it was taken",
        cause="In a static function a branch or a turn of a loop has taken a view, or detached a tensor. The tensor "
        "that the function gives shares its values, but which part it shows, only the run knew.",
        fix="Write to a clone, or take the view outside of branches and loops.",
        example="""
            @paddle.jit.to_static
            def last_row(x):
                row = x[0]
                for i in range(paddle.to_tensor(2)):
                    row = x[i]
                return row

            last_row(paddle.ones([2, 2])).add_(paddle.ones([2]))
        """,
        fixed="""
            @paddle.jit.to_static
            def last_row(x):
                row = x[0]
                for i in range(paddle.to_tensor(2)):
                    row = x[i]
                return row

            last_row(paddle.ones([2, 2])).clone().add_(paddle.ones([2]))
        """,
    ),
    hook(
        "H01",
        "A hook on a tensor that stops gradients",
        cause="The tensor never gets a gradient, so that the hook would never be called.",
        fix="Set `stop_gradient=False` on what it is computed from; do not register hooks under `no_grad`.",
        example="""
            x = paddle.to_tensor([1.0])
            x.register_hook(lambda g: 2 * g)
        """,
        fixed="""
            x = paddle.to_tensor([1.0], stop_gradient=False)
            x.register_hook(lambda g: 2 * g)
        """,
    ),
    hook(
        "H02",
        "A hook behind the backward",
        cause="In a Program built by hand the gradient of this variable has been computed above.",
        fix="Register the hook before `append_backward()` or `gradients()`.",
        example="""
            from d2s import static

            paddle.enable_static()
            x = static.data("x", [1])
            x.stop_gradient = False
            y = x * x
            static.gradients([y], [x])
            y.register_hook(lambda g: 2 * g)
        """,
        fixed="""
            from d2s import static

            paddle.enable_static()
            x = static.data("x", [1])
            x.stop_gradient = False
            y = x * x
            y.register_hook(lambda g: 2 * g)
            static.gradients([y], [x])
        """,
    ),
    hook(
        "H03",
        "Hooks without end",
        cause="A hook registers a new hook on its own tensor each time it is called, and the new one is called too.",
        fix="Register hooks outside of hooks.",
        example="""
            x = paddle.to_tensor([1.0], stop_gradient=False)

            def again(g):
                x.register_hook(again)

            x.register_hook(again)
            (2 * x).backward()
        """,
    ),
    hook(
        "H04",
        "A hook returns no gradient of its tensor",
        cause="What a hook returns takes the place of the gradient, so it must have the same shape and dtype.",
        fix="Return a tensor of the shape and dtype of `g`, or None to leave the gradient as it is.",
        example="""
            x = paddle.to_tensor([1.0, 2.0], stop_gradient=False)
            x.register_hook(lambda g: g.sum())
            (2 * x).sum().backward()
        """,
        fixed="""
            x = paddle.to_tensor([1.0, 2.0], stop_gradient=False)
            x.register_hook(lambda g: paddle.full_like(g, g.sum().item()))
            (2 * x).sum().backward()
        """,
    ),
    hook(
        "H05",
        "A hook before forward that returns something else",
        cause="A hook registered with `with_kwargs=True` gives positional and keyword arguments back, both or none.",
        fix="Return `(args, kwargs)`, or None to leave them as they are.",
        example="""
            net = paddle.nn.ReLU()
            net.register_forward_pre_hook(lambda layer, args, kwargs: args[0] * 2, with_kwargs=True)
            net(paddle.ones([2]))
        """,
        fixed="""
            net = paddle.nn.ReLU()
            net.register_forward_pre_hook(lambda layer, args, kwargs: ((args[0] * 2,), kwargs), with_kwargs=True)
            net(paddle.ones([2]))
        """,
    ),
    leaf(
        "L01",
        "A reduce hook on what is no leaf",
        cause="`_register_backward_hook` is for leaves: tensors that were made with `stop_gradient=False` and "
        "parameters, whose `.grad` is filled.",
        fix="Register it on the leaf, or use `register_hook`.",
        example="""
            x = paddle.to_tensor([1.0], stop_gradient=False)
            (2 * x)._register_backward_hook(lambda: None)
        """,
        fixed="""
            x = paddle.to_tensor([1.0], stop_gradient=False)
            x._register_backward_hook(lambda: None)
        """,
    ),
    leaf(
        "L02",
        "A leaf that needs a gradient is written in place",
        cause="A write in place gives a tensor a history, and then it is no leaf any more: its `.grad` would stay "
        "empty.",
        fix="Write under `no_grad`, or make a new tensor.",
        example="""
            x = paddle.to_tensor([1.0], stop_gradient=False)
            x.name = "x"
            x.add_(paddle.ones([1]))
        """,
        fixed="""
            x = paddle.to_tensor([1.0], stop_gradient=False)
            with paddle.no_grad():
                x.add_(paddle.ones([1]))
        """,
    ),
    anomaly(
        "V01",
        "NaN inside of detect_anomaly",
        cause="An operation gave NaN; in backward, the gradient of the operation in the line that is shown.",
        fix="Keep its operands away from the places where it is not defined.",
        example="""
            x = paddle.to_tensor([0.0], stop_gradient=False)
            with paddle.autograd.detect_anomaly():
                y = x.sqrt()
                (0 * y).backward()
        """,
        fixed="""
            x = paddle.to_tensor([0.0], stop_gradient=False)
            with paddle.autograd.detect_anomaly():
                y = (x + 1e-6).sqrt()
                (0 * y).backward()
        """,
    ),
)

"""What the assertions of `d2s.testing` find."""

from d2s.catalogue.kind import Family

modes, gradient = Family("ModesDiffer"), Family("WrongGradient")

KINDS = (
    modes(
        "B01",
        "Eager and static mode do not do the same",
        cause="`assert_same_in_both_modes` has seen another output, gradient, hook call, effect or error in one mode "
        "than in the other, or static mode refuses the function. The modes must be equal; they are not where a program "
        "asks for the mode, or is not the same from run to run (time, an unseeded generator).",
        fix="Look at the line that is named first. If the program does not ask for the mode itself, it is an error of "
        "d2s: report it.",
        example="""
            from d2s.testing import assert_same_in_both_modes

            def f(x):
                if paddle.in_dynamic_mode():
                    x = x * 2
                return x

            assert_same_in_both_modes(f, paddle.to_tensor([1.0]))
        """,
        fixed="""
            from d2s.testing import assert_same_in_both_modes

            def f(x):
                return x * 2

            assert_same_in_both_modes(f, paddle.to_tensor([1.0]))
        """,
    ),
    gradient(
        "W01",
        "A gradient that is not what differences of values say",
        cause="The gradient rule of an op or `PyLayer` is wrong, something stops a gradient on its way "
        "(`detach()`, `no_grad`), or the function has a kink at this place.",
        fix="Mend the rule that is named; at a kink, check the gradient at another place.",
        example="""
            from d2s.testing import check_grads

            def f(x):
                return x * x.detach()

            check_grads(f, paddle.to_tensor([3.0]), order=1)
        """,
        fixed="""
            from d2s.testing import check_grads

            def f(x):
                return x * x

            check_grads(f, paddle.to_tensor([3.0]), order=1)
        """,
    ),
    gradient(
        "W02",
        "Gradients that hooks change",
        cause="A hook returns something else than it got, so that the gradient is not that of the values. Without "
        "what hooks return all gradients are right.",
        fix="If the hooks are meant to do so, check the rest with `hooks=False`.",
        example="""
            from d2s.testing import check_grads

            def f(x):
                y = x * x
                y.register_hook(lambda g: g + 1)
                return y

            check_grads(f, paddle.to_tensor([3.0]), order=1)
        """,
        fixed="""
            from d2s.testing import check_grads

            def f(x):
                y = x * x
                y.register_hook(lambda g: g + 1)
                return y

            check_grads(f, paddle.to_tensor([3.0]), order=1, hooks=False)
        """,
    ),
)

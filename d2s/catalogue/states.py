"""Names and keys that do not fit, and objects that are not in the state that a call needs."""

from d2s.catalogue.kind import Family

key, member, state = Family("KeyNameError"), Family("MemberError"), Family("StateError")

KINDS = (
    key(
        "K01",
        "A name that a part of a Layer cannot have",
        cause="Parts of a Layer are reached as attributes and by paths with dots, so that a name must not be empty, "
        "contain a dot, or be that of another attribute.",
        fix="Take another name.",
        example="""
            net = paddle.nn.Layer()
            net.add_sublayer("part.one", paddle.nn.ReLU())
        """,
        fixed="""
            net = paddle.nn.Layer()
            net.add_sublayer("part_one", paddle.nn.ReLU())
        """,
    ),
    key(
        "K02",
        "A state of something else",
        cause="The state of an optimizer or a schedule that is loaded comes from one of another kind, from other "
        "parameters, or is not complete.",
        fix="Make an optimizer of the same kind for the same parameters in the same order, then load.",
        example="""
            net = paddle.nn.Linear(1, 1)
            momentum = paddle.optimizer.Momentum(0.1, parameters=net.parameters())
            net(paddle.ones([1, 1])).sum().backward()
            momentum.step()
            adam = paddle.optimizer.Adam(0.1, parameters=net.parameters())
            adam.set_state_dict(momentum.state_dict())
        """,
        fixed="""
            net = paddle.nn.Linear(1, 1)
            adam = paddle.optimizer.Adam(0.1, parameters=net.parameters())
            net(paddle.ones([1, 1])).sum().backward()
            adam.step()
            again = paddle.optimizer.Adam(0.1, parameters=net.parameters())
            again.set_state_dict(adam.state_dict())
        """,
    ),
    key(
        "K03",
        "A Program before the first call",
        cause="A static function is traced when it is called first; before that there is no Program to look at.",
        fix="Call it, or ask `get_concrete_program` with arguments or an `InputSpec`.",
        example="""
            @paddle.jit.to_static
            def f(x):
                return x * 2

            f.main_program
        """,
        fixed="""
            @paddle.jit.to_static
            def f(x):
                return x * 2

            f.get_concrete_program(paddle.static.InputSpec([None, 4], "float32")).main_program
        """,
    ),
    member(
        "M01",
        "A Layer that is not set up yet",
        cause="A Layer keeps its parts from `Layer.__init__` on, and this one sets an attribute before.",
        fix="Call `super().__init__()` first.",
        example="""
            class Net(paddle.nn.Layer):
                def __init__(self):
                    self.fc = paddle.nn.Linear(2, 2)

            Net()
        """,
        fixed="""
            class Net(paddle.nn.Layer):
                def __init__(self):
                    super().__init__()
                    self.fc = paddle.nn.Linear(2, 2)

            Net()
        """,
    ),
    member(
        "M02",
        "A part that an attribute of the class hides",
        cause="Parameters, buffers and sublayers are found after the attributes of the class, so that this one would "
        "never be found.",
        fix="Take another name, or leave the attribute of the class out.",
        example="""
            class Net(paddle.nn.Layer):
                fc = None

                def __init__(self):
                    super().__init__()
                    self.fc = paddle.nn.Linear(2, 2)

            Net()
        """,
        fixed="""
            class Net(paddle.nn.Layer):
                def __init__(self):
                    super().__init__()
                    self.fc = paddle.nn.Linear(2, 2)

            Net()
        """,
    ),
    member(
        "M03",
        "A sublayer that is not there",
        cause="No Layer is found under this name: it is another one, or names a parameter.",
        fix="`named_sublayers()` gives the names that there are.",
        example="""
            net = paddle.nn.Sequential(paddle.nn.Linear(2, 2))
            net.get_sublayer("1")
        """,
        fixed="""
            net = paddle.nn.Sequential(paddle.nn.Linear(2, 2))
            net.get_sublayer("0")
        """,
    ),
    state(
        "R01",
        "A state dict that does not fit",
        cause="`load_state_dict` with `strict=True` wants a value for each parameter and buffer, and nothing else.",
        fix="Load into a Layer of the same structure, or pass `strict=False` to take over what fits.",
        example="""
            paddle.nn.Linear(2, 2).load_state_dict({"weight": paddle.ones([2, 2])})
        """,
        fixed="""
            paddle.nn.Linear(2, 2).load_state_dict({"weight": paddle.ones([2, 2])}, strict=False)
        """,
    ),
    state(
        "R02",
        "Two that set the learning rate",
        cause="The optimizer was made with a schedule, which sets the learning rate.",
        fix="Call `step` of the schedule, or give the optimizer another with `set_lr_scheduler`.",
        example="""
            schedule = paddle.optimizer.lr.ExponentialDecay(0.1, 0.9)
            optimizer = paddle.optimizer.SGD(schedule, parameters=paddle.nn.Linear(1, 1).parameters())
            optimizer.set_lr(0.01)
        """,
        fixed="""
            optimizer = paddle.optimizer.SGD(0.1, parameters=paddle.nn.Linear(1, 1).parameters())
            optimizer.set_lr(0.01)
        """,
    ),
    state(
        "R03",
        "A profiler started twice, or stopped before it was started",
        cause="A profiler runs from `start` to `stop`, or inside of its `with`.",
        fix="Use it as a context: `with paddle.profiler.Profiler() as profiler:`.",
        example="""
            profiler = paddle.profiler.Profiler()
            profiler.stop()
        """,
        fixed="""
            with paddle.profiler.Profiler() as profiler:
                paddle.ones([2]).sum()
        """,
    ),
    state(
        "R04",
        "The mode of a static method",
        cause="Training and evaluation are modes of the Layer, not of one of its methods.",
        fix="Call `train()` or `eval()` of the Layer.",
        example="""
            net = paddle.jit.to_static(paddle.nn.Dropout(0.5))
            net.forward.eval()
        """,
        fixed="""
            net = paddle.jit.to_static(paddle.nn.Dropout(0.5))
            net.eval()
        """,
    ),
    state(
        "R05",
        "A worker that gives no batch",
        cause="A process of the DataLoader has ended (killed, out of memory, `sys.exit`), or takes longer than "
        "`timeout`.",
        fix="Try `num_workers=0`: then an error in the data set shows itself. Else give a longer `timeout`.",
        example="""
            import os

            class Data(paddle.io.Dataset):
                def __getitem__(self, index):
                    os._exit(7)

                def __len__(self):
                    return 4

            if __name__ == "__main__":
                for batch in paddle.io.DataLoader(Data(), num_workers=1):
                    pass
        """,
        fixed="""
            class Data(paddle.io.Dataset):
                def __getitem__(self, index):
                    return float(index)

                def __len__(self):
                    return 4

            if __name__ == "__main__":
                for batch in paddle.io.DataLoader(Data(), num_workers=1):
                    pass
        """,
    ),
)

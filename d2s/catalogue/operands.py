"""Failures of operators and of what is given to them: shapes, dtypes, indices."""

from d2s.catalogue.kind import Family

shape, dtype, index = Family("ShapeError"), Family("DTypeError"), Family("IndexOutOfRangeError")
argument, missing = Family("ArgumentError"), Family("NotSupportedError")
number = Family("NumberError")
matrix = Family("MatrixError")

KINDS = (
    shape(
        "S01",
        "Shapes do not fit",
        cause="The shapes of the operands do not fit the operator, or a shape that was asked for does not fit the "
        "tensor. The message names the operator and the shapes.",
        fix="Print the shapes before the line; `reshape`, `unsqueeze` or `transpose` one of the operands.",
        example="paddle.ones([2, 3]) @ paddle.ones([2, 3])",
        fixed="paddle.ones([2, 3]) @ paddle.ones([2, 3]).T",
    ),
    shape(
        "S02",
        "One element is needed",
        cause="A tensor of several elements is used as one number: `item()`, `float()`, `int()`, `if x:`, or as the "
        "loss of `append_backward`.",
        fix="Reduce it to one element (`sum`, `mean`, `all`, `any`), or pick one.",
        example="""
            if paddle.to_tensor([1.0, 2.0]) > 0:
                print("positive")
        """,
        fixed="""
            if (paddle.to_tensor([1.0, 2.0]) > 0).all():
                pass
        """,
    ),
    shape(
        "S03",
        "Examples of one batch differ",
        cause="The examples that a `DataLoader` puts into one batch have different shapes or lengths.",
        fix="Pad them to one size in the data set, or pass a `collate_fn` that does.",
        example="paddle.io.dataloader.default_collate_fn([[1.0, 2.0], [3.0]])",
    ),
    shape(
        "S04",
        "A tensor is given values of another shape",
        cause="`set_value`, a write in place or a gradient has another shape than the tensor it is for.",
        fix="Give it values of its own shape, or use an operator that makes a new tensor.",
        example="paddle.zeros([2]).set_value(paddle.ones([3]))",
        fixed="paddle.zeros([2]).set_value(paddle.ones([2]))",
    ),
    shape(
        "S05",
        "The largest of nothing",
        cause="`max`, `min`, `argmax` or `argmin` along an axis of size 0.",
        fix="Ask for the size first.",
        example="paddle.zeros([0]).max()",
    ),
    shape(
        "S06",
        "A size has to be known",
        cause="The number of results of an operator depends on a size that is known only when the Program runs.",
        fix="Keep all elements, and give those that are not wanted a value that does no harm.",
        example="""
            @paddle.jit.to_static
            def shrink(x, mask):
                chosen = x[mask].reshape([1, 1, 1, -1])
                return paddle.nn.functional.adaptive_max_pool2d(chosen, [1, 2])

            shrink(paddle.ones([3]), paddle.to_tensor([True, False, True]))
        """,
        fixed="""
            @paddle.jit.to_static
            def shrink(x, mask):
                chosen = paddle.where(mask, x, paddle.full_like(x, float("-inf"))).reshape([1, 1, 1, -1])
                return paddle.nn.functional.adaptive_max_pool2d(chosen, [1, 2])

            shrink(paddle.ones([3]), paddle.to_tensor([True, False, True]))
        """,
    ),
    dtype(
        "D01",
        "A kind of value that is not accepted",
        cause="An operator or function got a dtype, or a Python object, that it is not defined for.",
        fix="Convert it first: `x.astype('float32')` for tensors, `paddle.to_tensor(...)` for lists.",
        example="""
            paddle.add(paddle.to_tensor([1.0]), "1")
        """,
        fixed="""
            paddle.add(paddle.to_tensor([1.0]), float("1"))
        """,
    ),
    dtype(
        "D02",
        "Integers have no gradient",
        cause="`stop_gradient=False` was asked for a tensor of integers or booleans.",
        fix="Make it a floating point tensor.",
        example="paddle.to_tensor([1, 2], stop_gradient=False)",
        fixed='paddle.to_tensor([1, 2], dtype="float32", stop_gradient=False)',
    ),
    dtype(
        "D03",
        "Something that cannot be saved",
        cause="`paddle.save` writes tensors, arrays and plain Python values only, so that `load` never runs code.",
        fix="Save the numbers in the object, or its `state_dict()`.",
        example="""
            import io

            paddle.save({"schedule": lambda step: 0.1}, io.BytesIO())
        """,
        fixed="""
            import io

            paddle.save({"rate": 0.1}, io.BytesIO())
        """,
    ),
    dtype(
        "D04",
        "A tensor is given values of another dtype",
        cause="A gradient, or a value written in place, is no tensor or has a dtype that does not fit the tensor.",
        fix="Cast it to the dtype of the tensor.",
        example="""
            x = paddle.to_tensor([1.0], stop_gradient=False)
            (2 * x).backward(paddle.to_tensor([1]))
        """,
        fixed="""
            x = paddle.to_tensor([1.0], stop_gradient=False)
            (2 * x).backward(paddle.to_tensor([1.0]))
        """,
    ),
    dtype(
        "D05",
        "A hook that returns no tensor",
        cause="What a gradient hook returns takes the place of the gradient: a tensor, or None to leave it as it is.",
        fix="Return a tensor or None.",
        example="""
            x = paddle.to_tensor([1.0], stop_gradient=False)
            x.register_hook(lambda g: 2.0)
            (2 * x).backward()
        """,
        fixed="""
            x = paddle.to_tensor([1.0], stop_gradient=False)
            x.register_hook(lambda g: paddle.full_like(g, 2.0))
            (2 * x).backward()
        """,
    ),
    dtype(
        "D06",
        "A call that does not fit the function",
        cause="An argument has a name that the function does not know, is given twice, or is missing. The message "
        "names what the function takes.",
        fix="Compare the call with the names in the message; those that Paddle knows beside them (`dim` for `axis`) "
        "are taken where Paddle takes them.",
        example="paddle.exp(paddle.ones([2]), axis=0)",
        fixed="paddle.exp(x=paddle.ones([2]))",
    ),
    index(
        "I01",
        "An index outside of the tensor",
        cause="An index is larger than the axis, there are more indices than axes, or a mask has another shape.",
        fix="Compare the index with `x.shape`; the last element is number -1.",
        example="paddle.to_tensor([1.0, 2.0])[2]",
        fixed="paddle.to_tensor([1.0, 2.0])[-1]",
    ),
    index(
        "I02",
        "An axis that is not there",
        cause="The number of an axis is larger than the number of axes.",
        fix="Axes are counted from 0, or from -1 backwards.",
        example="paddle.ones([2, 3]).sum(axis=2)",
        fixed="paddle.ones([2, 3]).sum(axis=1)",
    ),
    index(
        "I03",
        "A class or row that is not there",
        cause="A label is not below the number of classes, or `padding_idx` is no row of the embedding.",
        fix="Check the largest label and the number of classes.",
        example="paddle.nn.Embedding(10, 4, padding_idx=10)",
        fixed="paddle.nn.Embedding(10, 4, padding_idx=9)",
    ),
    index(
        "I04",
        "An entry that is not there",
        cause="A `LayerList`, `Sequential` or data set has fewer entries than this index says.",
        fix="Compare it with `len(...)`; the last entry is number -1.",
        example="paddle.nn.LayerList([paddle.nn.ReLU()])[1]",
        fixed="paddle.nn.LayerList([paddle.nn.ReLU()])[-1]",
    ),
    argument(
        "A01",
        "An argument that cannot be",
        cause="An argument has a value outside of what it may be. The message says what is allowed.",
        fix="Pass one of the values that the message names.",
        example='paddle.nn.functional.dropout(paddle.ones([2]), p=1.5)',
        fixed='paddle.nn.functional.dropout(paddle.ones([2]), p=0.5)',
    ),
    argument(
        "A02",
        "A file that cannot be read",
        cause="The file was not written by `save` of d2s, or is damaged. Files of PaddlePaddle and PyTorch "
        "cannot be read.",
        fix="Load what d2s has written. To take over weights, save them with NumPy in the other library.",
        example="""
            import io

            paddle.load(io.BytesIO(b"something else"))
        """,
        fixed="""
            import io

            file = io.BytesIO()
            paddle.save({"step": 1}, file)
            file.seek(0)
            paddle.load(file)
        """,
    ),
    missing(
        "N01",
        "An option that is not there",
        cause="PaddlePaddle has this option, d2s does not.",
        fix="Leave the option out, and compute what it stands for by other functions.",
        example="paddle.scale(paddle.ones([2]), 2.0, act='relu')",
        fixed="paddle.nn.functional.relu(paddle.scale(paddle.ones([2]), 2.0))",
    ),
    missing(
        "N02",
        "A method that is missing",
        cause="A class of yours has to define this method: `forward` of a Layer, `forward` and `backward` of a "
        "PyLayer, `__getitem__` and `__len__` of a Dataset.",
        fix="Define it. If you have, look at its name and whether it stands inside of the class.",
        example="""
            class Net(paddle.nn.Layer):
                def foward(self, x):
                    return 2 * x

            Net()(paddle.ones([1]))
        """,
        fixed="""
            class Net(paddle.nn.Layer):
                def forward(self, x):
                    return 2 * x

            Net()(paddle.ones([1]))
        """,
    ),
    number(
        "O01",
        "A number that the dtype cannot hold",
        cause="A Python number takes the dtype of the tensor that it meets, and this one is out of its range.",
        fix="Cast the tensor to a larger dtype first.",
        example="""
            paddle.to_tensor([1], dtype="uint8") + 300
        """,
        fixed="""
            paddle.to_tensor([1], dtype="uint8").astype("int32") + 300
        """,
    ),
    matrix(
        "Q01",
        "A matrix that has no inverse or decomposition",
        cause="It is singular, not positive definite, or holds NaN, so that LAPACK finds no result.",
        fix="Add a small multiple of the identity, or use `linalg.pinv`.",
        example="""
            paddle.linalg.inv(paddle.ones([2, 2]))
        """,
        fixed="""
            paddle.linalg.pinv(paddle.ones([2, 2]))
        """,
    ),
)

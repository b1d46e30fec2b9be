"""Layers with parameters, losses, initializers and gradient clipping."""

from d2s.nn import functional, initializer
from d2s.nn.activation import (
    ELU,
    GELU,
    Hardtanh,
    LeakyReLU,
    LogSoftmax,
    ReLU,
    Sigmoid,
    Silu,
    Softmax,
    Softplus,
    Tanh,
)
from d2s.nn.basic import Dropout, Embedding, Flatten, Identity, Linear
from d2s.nn.clip import ClipGradByGlobalNorm, ClipGradByNorm, ClipGradByValue
from d2s.nn.containers import LayerDict, LayerList, ParameterList, Sequential
from d2s.nn.conv import AvgPool2D, Conv2D, MaxPool2D
from d2s.nn.layer import Layer
from d2s.nn.loss import BCEWithLogitsLoss, CrossEntropyLoss, L1Loss, MSELoss, NLLLoss
from d2s.nn.normalization import BatchNorm1D, BatchNorm2D, LayerNorm
from d2s.nn.parameter import ParamAttr, Parameter

__all__ = [
    "ELU",
    "GELU",
    "AvgPool2D",
    "BCEWithLogitsLoss",
    "BatchNorm1D",
    "BatchNorm2D",
    "ClipGradByGlobalNorm",
    "ClipGradByNorm",
    "ClipGradByValue",
    "Conv2D",
    "CrossEntropyLoss",
    "Dropout",
    "Embedding",
    "Flatten",
    "Hardtanh",
    "Identity",
    "L1Loss",
    "Layer",
    "LayerDict",
    "LayerList",
    "LayerNorm",
    "LeakyReLU",
    "Linear",
    "LogSoftmax",
    "MSELoss",
    "MaxPool2D",
    "NLLLoss",
    "ParamAttr",
    "Parameter",
    "ParameterList",
    "ReLU",
    "Sequential",
    "Sigmoid",
    "Silu",
    "Softmax",
    "Softplus",
    "Tanh",
    "functional",
    "initializer",
]

"""The writes in place of tensors, as functions: ``tanh_(x)`` is ``x.tanh_()``."""

from d2s.ops.derived_methods import DerivedMethods as _Methods

abs_ = _Methods.abs_
acos_ = _Methods.acos_
acosh_ = _Methods.acosh_
addmm_ = _Methods.addmm_
asin_ = _Methods.asin_
asinh_ = _Methods.asinh_
atan_ = _Methods.atan_
atanh_ = _Methods.atanh_
baddbmm_ = _Methods.baddbmm_
bernoulli_ = _Methods.bernoulli_
bitwise_and_ = _Methods.bitwise_and_
bitwise_invert_ = _Methods.bitwise_invert_
bitwise_left_shift_ = _Methods.bitwise_left_shift_
bitwise_not_ = _Methods.bitwise_not_
bitwise_or_ = _Methods.bitwise_or_
bitwise_right_shift_ = _Methods.bitwise_right_shift_
bitwise_xor_ = _Methods.bitwise_xor_
copysign_ = _Methods.copysign_
cos_ = _Methods.cos_
cosh_ = _Methods.cosh_
cumprod_ = _Methods.cumprod_
cumsum_ = _Methods.cumsum_
digamma_ = _Methods.digamma_
div_ = _Methods.div_
divide_ = _Methods.divide_
erf_ = _Methods.erf_
expm1_ = _Methods.expm1_
flatten_ = _Methods.flatten_
floor_divide_ = _Methods.floor_divide_
floor_mod_ = _Methods.floor_mod_
frac_ = _Methods.frac_
gammaln_ = _Methods.gammaln_
gcd_ = _Methods.gcd_
hypot_ = _Methods.hypot_
index_add_ = _Methods.index_add_
index_fill_ = _Methods.index_fill_
index_put_ = _Methods.index_put_
lcm_ = _Methods.lcm_
ldexp_ = _Methods.ldexp_
lgamma_ = _Methods.lgamma_
log10_ = _Methods.log10_
log1p_ = _Methods.log1p_
log2_ = _Methods.log2_
log_ = _Methods.log_
logical_and_ = _Methods.logical_and_
logical_not_ = _Methods.logical_not_
logical_or_ = _Methods.logical_or_
logical_xor_ = _Methods.logical_xor_
logit_ = _Methods.logit_
masked_fill_ = _Methods.masked_fill_
masked_scatter_ = _Methods.masked_scatter_
mod_ = _Methods.mod_
multigammaln_ = _Methods.multigammaln_
multiply_ = _Methods.multiply_
nan_to_num_ = _Methods.nan_to_num_
neg_ = _Methods.neg_
normal_ = _Methods.normal_
polygamma_ = _Methods.polygamma_
pow_ = _Methods.pow_
remainder_ = _Methods.remainder_
reshape_ = _Methods.reshape_
scatter_ = _Methods.scatter_
sin_ = _Methods.sin_
sinc_ = _Methods.sinc_
sinh_ = _Methods.sinh_
square_ = _Methods.square_
squeeze_ = _Methods.squeeze_
sub_ = _Methods.sub_
subtract_ = _Methods.subtract_
t_ = _Methods.t_
tan_ = _Methods.tan_
tanh_ = _Methods.tanh_
transpose_ = _Methods.transpose_
tril_ = _Methods.tril_
triu_ = _Methods.triu_
trunc_ = _Methods.trunc_
unsqueeze_ = _Methods.unsqueeze_

__all__ = [
    "abs_",
    "acos_",
    "acosh_",
    "addmm_",
    "asin_",
    "asinh_",
    "atan_",
    "atanh_",
    "baddbmm_",
    "bernoulli_",
    "bitwise_and_",
    "bitwise_invert_",
    "bitwise_left_shift_",
    "bitwise_not_",
    "bitwise_or_",
    "bitwise_right_shift_",
    "bitwise_xor_",
    "copysign_",
    "cos_",
    "cosh_",
    "cumprod_",
    "cumsum_",
    "digamma_",
    "div_",
    "divide_",
    "erf_",
    "expm1_",
    "flatten_",
    "floor_divide_",
    "floor_mod_",
    "frac_",
    "gammaln_",
    "gcd_",
    "hypot_",
    "index_add_",
    "index_fill_",
    "index_put_",
    "lcm_",
    "ldexp_",
    "lgamma_",
    "log1p_",
    "log2_",
    "log10_",
    "log_",
    "logical_and_",
    "logical_not_",
    "logical_or_",
    "logical_xor_",
    "logit_",
    "masked_fill_",
    "masked_scatter_",
    "mod_",
    "multigammaln_",
    "multiply_",
    "nan_to_num_",
    "neg_",
    "normal_",
    "polygamma_",
    "pow_",
    "remainder_",
    "reshape_",
    "scatter_",
    "sin_",
    "sinc_",
    "sinh_",
    "square_",
    "squeeze_",
    "sub_",
    "subtract_",
    "t_",
    "tan_",
    "tanh_",
    "transpose_",
    "tril_",
    "triu_",
    "trunc_",
    "unsqueeze_",
]

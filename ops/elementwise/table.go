package elementwise

import (
	"math"

	"github.com/gokiln/kiln/ops"
	"github.com/gokiln/kiln/ops/elementwise/kernels"
	core "github.com/gokiln/kiln/ops/kernels"
)

// The operations of one operand.
var (
	Identity  = unary("identity", kernels.Identity[float32], ops.Numbers)
	Neg       = unary("neg", kernels.Neg[float32], ops.Numbers)
	Abs       = unary("abs", kernels.Abs[float32], ops.Floats).ints(kernels.AbsInt[int32])
	Sign      = unary("sign", kernels.Sign[float32], ops.Numbers)
	Sqr       = unary("sqr", kernels.Sqr[float32], ops.Numbers)
	Relu      = unary("relu", kernels.Relu[float32], ops.Numbers)
	Not       = unary("not", nil, 0).ints(kernels.Not[int32])
	Floor     = unary("floor", kernels.Floor[float32], ops.Floats).ints(kernels.Identity[int32])
	Ceil      = unary("ceil", kernels.Ceil[float32], ops.Floats).ints(kernels.Identity[int32])
	Trunc     = unary("trunc", kernels.Trunc[float32], ops.Floats).ints(kernels.Identity[int32])
	Round     = unary("round", kernels.Round[float32], ops.Floats).ints(kernels.Identity[int32])
	RoundEven = unary("round_even", kernels.RoundEven[float32], ops.Floats).ints(kernels.Identity[int32])
	Recip     = unary("recip", kernels.Recip[float32], ops.Floats)
	Sqrt      = unary("sqrt", kernels.Sqrt[float32], ops.Floats)
	Rsqrt     = unary("rsqrt", kernels.Rsqrt[float32], ops.Floats)
	Cbrt      = unary("cbrt", kernels.Cbrt[float32], ops.Floats)
	Exp       = unary("exp", kernels.Exp[float32], ops.Floats)
	Exp2      = unary("exp2", kernels.Exp2[float32], ops.Floats)
	Expm1     = unary("expm1", kernels.Expm1[float32], ops.Floats)
	Log       = unary("log", kernels.Log[float32], ops.Floats)
	Log2      = unary("log2", kernels.Log2[float32], ops.Floats)
	Log10     = unary("log10", kernels.Log10[float32], ops.Floats)
	Log1p     = unary("log1p", kernels.Log1p[float32], ops.Floats)
	Sin       = unary("sin", kernels.Sin[float32], ops.Floats)
	Cos       = unary("cos", kernels.Cos[float32], ops.Floats)
	Tan       = unary("tan", kernels.Tan[float32], ops.Floats)
	Asin      = unary("asin", kernels.Asin[float32], ops.Floats)
	Acos      = unary("acos", kernels.Acos[float32], ops.Floats)
	Atan      = unary("atan", kernels.Atan[float32], ops.Floats)
	Sinh      = unary("sinh", kernels.Sinh[float32], ops.Floats)
	Cosh      = unary("cosh", kernels.Cosh[float32], ops.Floats)
	Tanh      = unary("tanh", kernels.Tanh[float32], ops.Floats)
	Erf       = unary("erf", kernels.Erf[float32], ops.Floats)
	Erfc      = unary("erfc", kernels.Erfc[float32], ops.Floats)
	Lgamma    = unary("lgamma", kernels.Lgamma[float32], ops.Floats)
	Sigmoid   = unary("sigmoid", kernels.Sigmoid[float32], ops.Floats).rounded(kernels.SigmoidShort)
	Silu      = unary("silu", kernels.Silu[float32], ops.Floats).rounded(kernels.SiluShort)
	Softplus  = unary("softplus", kernels.Softplus[float32], ops.Floats)
	Gelu      = unary("gelu", kernels.Gelu[float32], ops.Floats).rounded(kernels.GeluShort)
	GeluErf   = unary("gelu_erf", kernels.GeluErf[float32], ops.Floats).rounded(kernels.GeluErfShort)

	IsNaN    = test("isnan", kernels.IsNaN[float32], ops.Floats)
	IsInf    = test("isinf", kernels.IsInf[float32], ops.Floats)
	IsFinite = test("isfinite", kernels.IsFinite[float32], ops.Floats)
	False    = test("logical_not", kernels.False[float32], ops.Numbers)
)

// The operations of two operands.
var (
	Add      = binary("add", core.Add[float32], ops.Numbers)
	Sub      = binary("sub", kernels.Sub[float32], ops.Numbers)
	Mul      = binary("mul", kernels.Mul[float32], ops.Numbers)
	Div      = binary("div", core.Div[float32], ops.Numbers)
	Mod      = binary("mod", kernels.Mod[float32], ops.Floats).ints(kernels.ModInt[int32])
	Maximum  = binary("maximum", kernels.Maximum[float32], ops.Numbers)
	Minimum  = binary("minimum", kernels.Minimum[float32], ops.Numbers)
	Pow      = binary("pow", kernels.Pow[float32], ops.Floats).ints(kernels.PowInt[int32])
	Atan2    = binary("atan2", kernels.Atan2[float32], ops.Floats)
	Hypot    = binary("hypot", kernels.Hypot[float32], ops.Floats)
	Copysign = binary("copysign", kernels.Copysign[float32], ops.Floats)
	And      = binary("and", nil, 0).ints(kernels.And[int32])
	Or       = binary("or", nil, 0).ints(kernels.Or[int32])
	Xor      = binary("xor", nil, 0).ints(kernels.Xor[int32])
	Shl      = binary("shl", nil, 0).ints(kernels.Shl[int32])
	Shr      = binary("shr", nil, 0).ints(kernels.Shr[int32])

	Eq         = compare("eq", kernels.Eq[float32])
	Ne         = compare("ne", kernels.Ne[float32])
	Lt         = compare("lt", kernels.Lt[float32])
	Le         = compare("le", kernels.Le[float32])
	Gt         = compare("gt", kernels.Lt[float32]).swapped() // x > y is y < x
	Ge         = compare("ge", kernels.Le[float32]).swapped()
	LogicalAnd = compare("logical_and", kernels.Both[float32])
	LogicalOr  = compare("logical_or", kernels.Either[float32])
	LogicalXor = compare("logical_xor", kernels.Differ[float32])
)

// The operations of one operand and one or two numbers.
var (
	Affine    = scaled("affine", kernels.Affine[float32], ops.Numbers)
	PowF      = scaled("powf", kernels.PowF[float32], ops.Floats)
	Elu       = scaled("elu", kernels.Elu[float32], ops.Floats)
	LeakyRelu = scaled("leaky_relu", kernels.LeakyRelu[float32], ops.Floats)
	Clamp     = scaled("clamp", kernels.Clamp[float32], ops.Numbers)
	RoundTo   = scaled("round_to", kernels.RoundTo[float32], ops.Floats)
	AddOf     = scaled("add", kernels.AddOf[float32], ops.Numbers).as(affine{other: 1, second: true})
	SubOf     = scaled("sub", kernels.SubOf[float32], ops.Numbers).as(affine{other: 1, second: true, negated: true})
	MulOf     = scaled("mul", kernels.MulOf[float32], ops.Numbers).as(affine{other: math.Copysign(0, -1)}) // -0 + -0 is -0
	DivOf     = scaled("div", kernels.DivOf[float32], ops.Numbers)
	MaximumOf = scaled("maximum", kernels.MaximumOf[float32], ops.Numbers)
	MinimumOf = scaled("minimum", kernels.MinimumOf[float32], ops.Numbers)
	SubFrom   = scaled("rsub", kernels.SubFrom[float32], ops.Numbers).as(affine{other: -1, second: true})
	DivFrom   = scaled("rdiv", kernels.DivFrom[float32], ops.Numbers)

	EqOf = scaledTest("eq", kernels.Eq[float32])
	NeOf = scaledTest("ne", kernels.Ne[float32])
	LtOf = scaledTest("lt", kernels.Lt[float32])
	LeOf = scaledTest("le", kernels.Le[float32])
	GtOf = scaledTest("gt", kernels.Gt[float32])
	GeOf = scaledTest("ge", kernels.Ge[float32])
)

// Elementwises returns all of them, in the order of the table.
func Elementwises() []*Elementwise { return elementwises }

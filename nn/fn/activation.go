package fn

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/gokiln/kiln/nn/internal/operand"
	"github.com/gokiln/kiln/tensor"
)

// Kind is which function an [Activation] is.
type Kind int

// The kinds, by the functions and methods of these names. Gelu is the exact one, GeluTanh
// that by a hyperbolic tangent.
const (
	KindGelu Kind = iota
	KindGeluTanh
	KindQuickGelu
	KindRelu
	KindRelu2
	KindRelu6
	KindSilu
	KindSigmoid
	KindHardSigmoid
	KindTanh
	KindSwiglu
	KindGeGLU
	KindReGLU
	KindMish
	KindHardSwish
	KindSoftplus
	KindSoftsign
	KindLogSigmoid
	KindElu
	KindCelu
	KindSelu
	KindLeakyRelu
	KindIdentity
)

// kinds is the table of the activations: name, other spellings in configurations of models, the
// default of the parameter, the function, and the epilogue of matrix products that computes it.
var kinds = [...]struct {
	name     string
	others   []string
	param    float64
	of       func(x *tensor.Tensor, param float64) *tensor.Tensor
	epilogue tensor.Activation
}{
	KindGelu:        {"gelu", []string{"gelu_erf", "gelu_python"}, 0, plain((*tensor.Tensor).GeluErf), tensor.GeluErf},
	KindGeluTanh:    {"gelu_new", []string{"gelu_pytorch_tanh", "gelu_tanh", "gelu_fast", "gelu_accurate", "gelu_python_tanh"}, 0, plain(NewGelu), tensor.Gelu},
	KindQuickGelu:   {"quick_gelu", nil, 0, plain(QuickGelu), 0},
	KindRelu:        {"relu", nil, 0, plain((*tensor.Tensor).Relu), tensor.Relu},
	KindRelu2:       {"relu2", []string{"relu_squared", "squared_relu", "sqrelu"}, 0, plain(Relu2), 0},
	KindRelu6:       {"relu6", nil, 0, plain(Relu6), 0},
	KindSilu:        {"silu", []string{"swish"}, 0, plain((*tensor.Tensor).Silu), tensor.Silu},
	KindSigmoid:     {"sigmoid", nil, 0, plain((*tensor.Tensor).Sigmoid), tensor.Sigmoid},
	KindHardSigmoid: {"hard_sigmoid", nil, 0, plain(HardSigmoid), 0},
	KindTanh:        {"tanh", nil, 0, plain((*tensor.Tensor).Tanh), tensor.Tanh},
	KindSwiglu:      {"swiglu", nil, 0, plain(Swiglu), 0},
	KindGeGLU:       {"geglu", nil, 0, plain(GeGLU), 0},
	KindReGLU:       {"reglu", nil, 0, plain(ReGLU), 0},
	KindMish:        {"mish", nil, 0, plain((*tensor.Tensor).Mish), tensor.Mish},
	KindHardSwish:   {"hard_swish", nil, 0, plain(HardSwish), 0},
	KindSoftplus:    {"softplus", nil, 0, plain((*tensor.Tensor).Softplus), 0},
	KindSoftsign:    {"softsign", nil, 0, plain(Softsign), 0},
	KindLogSigmoid:  {"log_sigmoid", nil, 0, plain(LogSigmoid), 0},
	KindElu:         {"elu", nil, 1, (*tensor.Tensor).Elu, 0},
	KindCelu:        {"celu", nil, 1, Celu, 0},
	KindSelu:        {"selu", nil, 0, plain(standardSelu), 0},
	KindLeakyRelu:   {"leaky_relu", nil, 0.01, (*tensor.Tensor).LeakyRelu, 0},
	KindIdentity:    {"linear", []string{"identity", "none"}, 0, plain(identity), tensor.NoActivation},
}

// plain is a function that has no parameter.
func plain(f func(*tensor.Tensor) *tensor.Tensor) func(*tensor.Tensor, float64) *tensor.Tensor {
	return func(x *tensor.Tensor, _ float64) *tensor.Tensor { return f(x) }
}

func identity(x *tensor.Tensor) *tensor.Tensor { return x }

func standardSelu(x *tensor.Tensor) *tensor.Tensor { return Selu(x, SeluAlpha, SeluGamma) }

// Activation is an activation that a configuration names. The zero value is the exact GELU.
//
//	var config struct {
//		HiddenAct fn.Activation `json:"hidden_act"` // "gelu_new", "silu", "elu(0.5)"
//	}
type Activation struct {
	Kind  Kind
	Param float64 // α of Elu and Celu, 0 is 1, and the slope of LeakyRelu, 0 is 0.01
}

// ParseActivation returns the activation of a name as configurations of models spell it, in
// letters of any case and with or without underscores, and with a parameter in parentheses where
// there is one.
func ParseActivation(text string) (Activation, error) {
	name, param, given := strings.Cut(strings.TrimSuffix(text, ")"), "(")
	var a Activation
	if given {
		p, err := strconv.ParseFloat(param, 64)
		if err != nil || !strings.HasSuffix(text, ")") {
			return a, fmt.Errorf("%w: activation %q: a parameter is a number in parentheses", tensor.ErrArgument, text)
		}
		a.Param = p
	}
	for k := range kinds {
		for _, spelling := range append(kinds[k].others, kinds[k].name) {
			if simple(spelling) != simple(name) {
				continue
			}
			if given && kinds[k].param == 0 {
				return a, fmt.Errorf("%w: activation %q has no parameter", tensor.ErrArgument, text)
			}
			a.Kind = Kind(k)
			return a, nil
		}
	}
	return a, fmt.Errorf("%w: no activation is called %q", tensor.ErrArgument, text)
}

// simple is a name without what spellings differ in.
func simple(name string) string {
	return strings.NewReplacer("_", "", "-", "", " ", "").Replace(strings.ToLower(name))
}

// String is the name, with the parameter if it is not the default.
func (a Activation) String() string {
	if a.Kind < 0 || int(a.Kind) >= len(kinds) {
		return fmt.Sprintf("Activation(%d)", int(a.Kind))
	}
	if a.Param != 0 && a.Param != kinds[a.Kind].param && kinds[a.Kind].param != 0 {
		return fmt.Sprintf("%s(%v)", kinds[a.Kind].name, a.Param)
	}
	return kinds[a.Kind].name
}

// MarshalText is [Activation.String].
func (a Activation) MarshalText() ([]byte, error) {
	if a.Kind < 0 || int(a.Kind) >= len(kinds) {
		return nil, fmt.Errorf("%w: activation of kind %d", tensor.ErrArgument, int(a.Kind))
	}
	return []byte(a.String()), nil
}

// UnmarshalText is [ParseActivation].
func (a *Activation) UnmarshalText(text []byte) (err error) {
	*a, err = ParseActivation(string(text))
	return err
}

// Apply computes the activation of x.
func (a Activation) Apply(x *tensor.Tensor) *tensor.Tensor {
	const op = "activation"
	if x == nil || x.Err() != nil {
		return operand.Floats(op, x)
	}
	if a.Kind < 0 || int(a.Kind) >= len(kinds) {
		return operand.Fail(op, tensor.ErrArgument, "kind %d", int(a.Kind))
	}
	k, param := &kinds[a.Kind], a.Param
	if param == 0 {
		param = k.param
	}
	return k.of(x, param)
}

// Forward is [Activation.Apply], as layers have it.
func (a Activation) Forward(x *tensor.Tensor) *tensor.Tensor { return a.Apply(x) }

// Epilogue is the activation as tensor.Tensor.LinearWith computes it in the kernel that multiplies;
// ok is false if it does not.
func (a Activation) Epilogue() (act tensor.Activation, ok bool) {
	if a.Kind < 0 || int(a.Kind) >= len(kinds) {
		return tensor.NoActivation, false
	}
	act = kinds[a.Kind].epilogue
	return act, act != tensor.NoActivation || a.Kind == KindIdentity
}

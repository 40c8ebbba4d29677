package nn

import (
	"errors"
	"fmt"

	"github.com/gokiln/kiln/tensor"
)

// ErrNoValue is the kind of error of a parameter that is used before [Init] or [Load] gave it a
// value.
var ErrNoValue = errors.New("parameter has no value")

// Param is a parameter of a layer, or a buffer: numbers that belong to the layer and are saved with
// it, but that no gradient is for, such as the running mean of a [BatchNorm]. It may be used from
// several goroutines as long as none changes it.
type Param struct {
	name   string // for messages, once it is known
	shape  tensor.Shape
	init   Initializer
	buffer bool
	frozen bool
	wide   bool
	v      *tensor.Var
	t      *tensor.Tensor // what layers compute with
	lent   bool           // t is a part of the memory that several have: see [Joint.Join]

	q     Quantized    // in place of v and t, or nil
	dense tensor.DType // what q is dequantized to
}

// NewParam returns a parameter of a shape that has no memory yet. [Init] gives it values by init.
func NewParam(init Initializer, shape ...int) *Param {
	return &Param{shape: append(tensor.Shape{}, shape...), init: init}
}

// NewBuffer is [NewParam] for numbers that no gradient is for.
func NewBuffer(init Initializer, shape ...int) *Param {
	p := NewParam(init, shape...)
	p.buffer = true
	return p
}

// Wide makes the parameter have 32 bits, or 64 in networks of that type, where it gets memory of a
// type with fewer, and returns it: for few numbers on which much depends, as rates of decay. Layers
// that use it take both types.
func (p *Param) Wide() *Param {
	p.wide = true
	return p
}

// in is the type that the parameter has in a network of a type.
func (p *Param) in(dt tensor.DType) tensor.DType {
	if p.wide && dt.IsFloat() {
		return dt.Compute()
	}
	return dt
}

// ParamOf returns a parameter that begins with a copy of the numbers of t.
func ParamOf(t *tensor.Tensor) *Param {
	p := &Param{}
	if p.t = t; t.Err() != nil {
		return p
	}
	p.shape = append(tensor.Shape{}, t.Shape()...)
	p.give(t)
	return p
}

// Shape is the parameter's shape.
func (p *Param) Shape() tensor.Shape { return p.shape }

// Count is how many numbers the parameter has.
func (p *Param) Count() int { return p.shape.Count() }

// HasValue reports whether the parameter has memory and values.
func (p *Param) HasValue() bool {
	return p != nil && (p.q != nil || p.t != nil && p.t.Err() == nil)
}

// device is where the parameter's values are, which it has.
func (p *Param) device() *tensor.Device {
	if p.q != nil {
		return p.q.Device()
	}
	return p.t.Device()
}

// IsBuffer reports whether no gradient is for the parameter, ever.
func (p *Param) IsBuffer() bool { return p.buffer }

// Tensor is the parameter in formulas. Gradients are for it, unless it is a buffer or frozen.
// Before it has a value, it is a tensor with an error of kind [ErrNoValue]. Of quantized numbers it
// is a new tensor each time: see [Param.SetQuantized].
func (p *Param) Tensor() *tensor.Tensor {
	if p == nil {
		return tensor.Fail("parameter", fmt.Errorf("%w: it is nil", ErrNoValue))
	}
	if p.q != nil {
		return p.q.Dequantize(p.dense)
	}
	if p.t == nil {
		name := p.name
		if name == "" {
			name = "of shape " + fmt.Sprint([]int(p.shape))
		}
		return tensor.Fail("parameter", fmt.Errorf("%w: %s: call nn.Init or nn.Load first", ErrNoValue, name))
	}
	return p.t
}

// Var is the variable that an optimiser changes, nil of a buffer, of a frozen or quantized
// parameter and of one without a value.
func (p *Param) Var() *tensor.Var {
	if p == nil || p.buffer || p.frozen {
		return nil
	}
	return p.v
}

// Set gives the parameter the numbers of t. One that has a value keeps its memory, element type and
// device, and t must have the same: a step of an optimiser or a captured graph then sees them.
// Else, and if its numbers are quantized, it gets memory as t has. The shapes must be equal.
func (p *Param) Set(t *tensor.Tensor) error {
	if err := t.Err(); err != nil {
		return err
	}
	if !t.Shape().Equal(p.shape) {
		return fmt.Errorf("parameter %s: %w: it has %v, its numbers %v", p.name, tensor.ErrShape, p.shape, t.Shape())
	}
	switch {
	case !p.HasValue() || p.q != nil:
		p.give(t)
		return p.t.Err()
	case p.v != nil:
		return p.v.Set(t)
	default:
		return p.t.Assign(t)
	}
}

// give gives the parameter memory with a copy of the numbers of t.
func (p *Param) give(t *tensor.Tensor) {
	changed()
	p.v, p.t, p.q, p.lent = nil, nil, nil, false
	if p.buffer || !t.DType().IsFloat() {
		p.t = t.Detach().Copy()
		return
	}
	p.v = tensor.NewVar(t.Detach())
	p.SetFrozen(p.frozen)
}

// move gives the parameter memory on a device, of a type if it is a floating-point one.
func (p *Param) move(on On) error {
	if p.q != nil {
		return p.moveQuantized(on)
	}
	t := p.t.Detach()
	if on.Device != nil && on.Device != t.Device() {
		t = t.To(on.Device)
	}
	if on.DType != 0 && t.DType().IsFloat() {
		t = t.Cast(p.in(on.DType))
	}
	if err := t.Err(); err != nil {
		return err
	}
	p.give(t)
	return p.t.Err()
}

// SetFrozen says whether gradients are for the parameter: of a frozen one they are not, so that no
// optimiser changes it and nothing is kept for its sake.
func (p *Param) SetFrozen(frozen bool) {
	p.frozen = frozen
	if p.lent && !frozen { // an optimiser needs memory of its own
		p.give(p.t)
		return
	}
	if p.v == nil {
		return
	}
	if p.t = p.v.Tensor(); frozen {
		p.t = p.t.Detach()
	}
}

// IsFrozen reports whether the parameter is frozen, as those of quantized numbers are.
func (p *Param) IsFrozen() bool { return p.frozen || p.q != nil }

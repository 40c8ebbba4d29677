package nn

import (
	"fmt"

	"github.com/gokiln/kiln/tensor"
)

// Quantized is the numbers of a parameter in a form of few bits, which layers multiply with as it
// is: a Tensor of package quantized, or a Weight of quantized/checkpoint. One that has the methods
// of [QuantizedTable] or [QuantizedExperts], too, is not dequantized for these, and [QuantizedMover] is
// for [Move].
type Quantized interface {
	Err() error
	Shape() tensor.Shape
	Device() *tensor.Device
	// Dequantize returns all numbers in a floating-point type.
	Dequantize(dt tensor.DType) *tensor.Tensor
	// Linear returns x·Wᵀ of (…, k) for numbers of shape (n, k), in the type of x.
	Linear(x *tensor.Tensor) *tensor.Tensor
}

// QuantizedTable is a [Quantized] of which rows are dequantized alone.
type QuantizedTable interface {
	// Embedding returns the rows of ids, in a floating-point type.
	Embedding(ids *tensor.Tensor, dt tensor.DType) *tensor.Tensor
}

// QuantizedExperts is a [Quantized] of the weights of experts, (experts, n, k).
type QuantizedExperts interface {
	// IndexedMoE returns the products of (tokens, 1 or topk, k) with the weights of the experts that
	// ids, (tokens, topk), name: (tokens, topk, n).
	IndexedMoE(x, ids *tensor.Tensor) *tensor.Tensor
}

// QuantizedMover is a [Quantized] that [Move] brings to other devices.
type QuantizedMover interface {
	// ToDevice returns the same numbers on a device, as a [Quantized] of the same type.
	ToDevice(d *tensor.Device) any
}

// QuantizedSource is a [Source] that has tensors of few bits.
type QuantizedSource interface {
	Source
	// Quantized returns a tensor as it is stored, on a device, or a part of it; and nil if its
	// elements are plain numbers, for which Tensor is called.
	Quantized(d *tensor.Device, name string, part Shard) (Quantized, error)
}

// SetQuantized gives the parameter the numbers of q, of its shape, in place of those it has. They
// don't change: no gradient is for them, as if the parameter was frozen. Linear layers, embeddings
// and mixtures of experts compute with them as they are; for other layers [Param.Tensor]
// dequantizes them each time, to dt, which is F32 if it is Invalid.
func (p *Param) SetQuantized(q Quantized, dt tensor.DType) error {
	if q == nil {
		return fmt.Errorf("parameter %s: %w: no numbers", p.name, tensor.ErrArgument)
	}
	if err := q.Err(); err != nil {
		return err
	}
	if dt == 0 {
		dt = tensor.F32
	}
	switch s := q.Shape(); {
	case !s.Equal(p.shape):
		return fmt.Errorf("parameter %s: %w: it has %v, its numbers %v",
			p.name, tensor.ErrShape, p.shape, s)
	case !dt.IsFloat() || !dt.Computes():
		return fmt.Errorf("parameter %s: %w: dequantized to %v, no float type that computes",
			p.name, tensor.ErrDType, dt)
	}
	changed()
	p.v, p.t, p.q, p.dense, p.lent = nil, nil, q, dt, false
	return nil
}

// Quantized returns the numbers that the parameter has by [Param.SetQuantized], nil if it has
// others or none.
func (p *Param) Quantized() Quantized {
	if p == nil {
		return nil
	}
	return p.q
}

// Quantize replaces the plain numbers of parameters of a network by what of returns for them, see
// [Param.SetQuantized]; those for which that is nil stay as they are, and those that are quantized
// already. Layers that gain by it are [Linear], [Embedding], [GatedMLP], [MoE] and
// [MultiHeadAttention], as they multiply with quantized numbers as they are. It returns how many
// parameters it replaced; the first that can't be is an error, and those before it stay replaced.
// An optimiser of the parameters has to be made after it.
//
//	n, err := nn.Quantize(net, func(name string, w *tensor.Tensor) nn.Quantized {
//		if !strings.HasSuffix(name, "proj.weight") {
//			return nil
//		}
//		return quantized.Quantize(w, format.Q4_K) // or checkpoint.QuantizeNF4(w, 64, true)
//	})
func Quantize(m any, of func(name string, w *tensor.Tensor) Quantized) (int, error) {
	list, err := List(m)
	if err != nil {
		return 0, err
	}
	n := 0
	for _, p := range list {
		if p.q != nil {
			continue
		}
		w := p.Tensor().Detach()
		if err := w.Err(); err != nil {
			return n, fmt.Errorf("nn: quantize %s: %w", p.Name, err)
		}
		q := of(p.Name, w)
		if q == nil {
			continue
		}
		if err := p.SetQuantized(q, w.DType()); err != nil {
			return n, fmt.Errorf("nn: quantize %s: %w", p.Name, err)
		}
		n++
	}
	return n, nil
}

// Dequantize gives all quantized parameters of a network plain numbers of a floating-point type,
// Invalid for the one that they were loaded with. It returns how many there were.
func Dequantize(m any, dt tensor.DType) (int, error) {
	list, err := List(m)
	if err != nil {
		return 0, err
	}
	n := 0
	for _, p := range list {
		if p.q == nil {
			continue
		}
		to := dt
		if to == 0 {
			to = p.dense
		}
		if err := p.Set(p.q.Dequantize(to)); err != nil {
			return n, fmt.Errorf("nn: dequantize %s: %w", p.Name, err)
		}
		n++
	}
	return n, nil
}

// moveQuantized is move for quantized numbers.
func (p *Param) moveQuantized(on On) error {
	q, dt := p.q, p.dense
	if on.Device != nil && on.Device != q.Device() {
		m, ok := q.(QuantizedMover)
		if ok {
			q, ok = m.ToDevice(on.Device).(Quantized)
		}
		if !ok {
			return fmt.Errorf("%w: it is quantized, on %v, as a %T, which cannot be moved: load it on %v",
				tensor.ErrDevice, p.q.Device(), p.q, on.Device)
		}
	}
	if on.DType != 0 {
		dt = on.DType
	}
	return p.SetQuantized(q, dt)
}

// errQuantized is the error of what needs plain numbers.
func errQuantized(p *Param) error {
	return fmt.Errorf("%w: %s is quantized: call nn.Dequantize first", tensor.ErrArgument, p.name)
}

// quantized returns the numbers of a tensor in a source if the parameter is to have them as they
// are stored, or else, if they are stored so, dequantized.
func (p *Named) quantized(
	from QuantizedSource, d *tensor.Device, name string, part Shard, o *LoadOptions,
) (Quantized, *tensor.Tensor) {
	q, err := from.Quantized(d, name, part)
	if err == nil && q == nil {
		return nil, nil
	}
	if err == nil {
		err = q.Err()
	}
	if err != nil {
		return nil, tensor.Fail("load", err)
	}
	dense := p.t != nil || p.buffer || len(p.shape) < 2 || o.Convert != nil
	if !dense && (o.Dequantize == nil || !o.Dequantize(p.Name)) {
		return q, nil
	}
	dt := o.DType
	if p.HasValue() {
		dt = p.Tensor().DType()
	}
	if dt == 0 || !dt.IsFloat() {
		dt = tensor.F32
	}
	return nil, q.Dequantize(dt)
}

// product is x·Wᵀ + b of a weight that may be quantized. The bias may be nil; of a quantized
// weight it is converted to the type of x.
func product(x *tensor.Tensor, w *Param, bias *tensor.Tensor) *tensor.Tensor {
	q := w.Quantized()
	switch {
	case q == nil:
		return x.LinearWith(w.Tensor(), tensor.Epilogue{Bias: bias})
	case bias == nil:
		return q.Linear(x)
	}
	return q.Linear(x).Add(narrowed(bias, x))
}

// lookup is rows of a table that may be quantized.
func lookup(w *Param, ids *tensor.Tensor) *tensor.Tensor {
	if q, ok := w.Quantized().(QuantizedTable); ok {
		return q.Embedding(ids, w.dense)
	}
	return w.Tensor().Embedding(ids)
}

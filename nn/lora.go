package nn

import (
	"cmp"
	"fmt"
	"math"

	"github.com/gokiln/kiln/tensor"
)

// LoRAOptions are how [Adapt] makes adapters.
type LoRAOptions struct {
	Rank     int
	Alpha    float64 // adapters are multiplied by Alpha/Rank; 0 for Rank
	RankRoot bool    // by Alpha/√Rank (Kalajdzievski, 2023)
	DoRA     bool    // the lengths of rows of the weight are learnt apart (Liu et al., 2024)
	Dropout  float64 // the share of the adapters' inputs that is set to zero in training
}

// LoRA is a low-rank adapter of a [Linear] layer (Hu et al., 2021): W + Scale·B·A in place of W.
// With a magnitude (DoRA) each row of that sum has the length that the magnitude says; no gradient
// goes through the length that it is divided by. The names are those of PEFT's files, behind the
// name of the layer.
type LoRA struct {
	A         *Param `nn:"lora_A.weight"`         // (rank, in)
	B         *Param `nn:"lora_B.weight"`         // (out, rank)
	Magnitude *Param `nn:"lora_magnitude_vector"` // (out), or nil
	Scale     float64
	Dropout   Dropout
	merged    bool
	kept      *tensor.Tensor // the weight without the adapter, while it is merged
}

// Adapt freezes all parameters of a network and adds adapters to the linear layers whose names
// match says yes to, nil for all. It returns how many there are. [Init] or [Load] gives them
// values: A random ones, B zeros, so that the network begins as it was, and magnitudes the lengths
// of the rows.
//
// A weight may be quantized: that is QLoRA (Dettmers et al., 2023). Gradients then go through it to
// the adapters of the layers before.
//
// Layers that use a weight but do not have a [Linear] for it, such as the packed one of
// [MultiHeadAttention], and those that are adapted already, stay as they are.
func Adapt(m any, o LoRAOptions, match func(name string) bool) (int, error) {
	if o.Rank < 1 {
		return 0, fmt.Errorf("nn: adapt: %w: a rank of %d", tensor.ErrArgument, o.Rank)
	}
	if err := SetFrozen(m, true); err != nil {
		return 0, err
	}
	return AdaptEach(m, func(name string, l *Linear) (*LoRA, error) {
		if match != nil && !match(name) {
			return nil, nil
		}
		return newLoRA(l, o), nil
	})
}

// AdaptEach adds the adapter that of returns to each linear layer, nil for none, and returns how
// many there are. It is for adapters that are there already, such as those of files, which may
// differ in rank and scale: [Adapt] makes new ones. Layers that are adapted already are left out.
func AdaptEach(m any, of func(name string, l *Linear) (*LoRA, error)) (n int, err error) {
	err = linears(m, func(name string, l *Linear) error {
		if l.Adapter != nil {
			return nil
		}
		a, err := of(name, l)
		if err != nil || a == nil {
			return err
		}
		if err := a.fits(l); err != nil {
			return fmt.Errorf("nn: adapt %s: %w", name, err)
		}
		l.Adapter = a
		n++
		return nil
	})
	return n, err
}

// fits checks the shapes of an adapter of a layer.
func (a *LoRA) fits(l *Linear) error {
	w, down, up := l.Weight.Shape(), a.A.Shape(), a.B.Shape()
	if len(down) != 2 || len(up) != 2 || down[0] != up[1] || down[1] != w[1] || up[0] != w[0] {
		return fmt.Errorf("%w: A has shape %v and B %v, for a weight of %v", tensor.ErrShape, down, up, w)
	}
	if a.Magnitude != nil && !a.Magnitude.Shape().Equal(w[:1]) {
		return fmt.Errorf("%w: the magnitude has shape %v, for a weight of %v", tensor.ErrShape,
			a.Magnitude.Shape(), w)
	}
	return nil
}

// newLoRA is an adapter of a layer.
func newLoRA(l *Linear, o LoRAOptions) *LoRA {
	out, in := l.Weight.Shape()[0], l.Weight.Shape()[1]
	rank := float64(o.Rank)
	a := &LoRA{
		A: NewParam(within(float64(in)), o.Rank, in), B: NewParam(Zeros, out, o.Rank),
		Scale: cmp.Or(o.Alpha, rank) / rank, Dropout: Dropout{P: o.Dropout},
	}
	if o.RankRoot {
		a.Scale *= math.Sqrt(rank)
	}
	if o.DoRA {
		a.Magnitude = NewParam(func(_ *tensor.Device, dt tensor.DType, _ tensor.Shape) *tensor.Tensor {
			return lengths(l.Weight.Tensor().Detach()).FlattenAll().Cast(dt)
		}, out)
	}
	return a
}

// linears calls f for all linear layers of a network, up to the first error.
func linears(m any, f func(name string, l *Linear) error) error {
	changed() // adapters, by all that calls this
	seen := map[*Linear]bool{}
	var first error
	err := walk(m, func(name string, l any) {
		if l, ok := l.(*Linear); ok && l.Weight != nil && first == nil && !seen[l] {
			seen[l] = true
			first = f(name, l)
		}
	})
	if err == nil {
		err = first
	}
	return err
}

// lengths is the lengths of the rows of a weight, (out, 1 …), in float32 or float64.
func lengths(w *tensor.Tensor) *tensor.Tensor {
	w = widened(w)
	if w.Err() != nil || w.Rank() < 2 {
		return w.Abs()
	}
	dims := make([]int, w.Rank()-1)
	for i := range dims {
		dims[i] = i + 1
	}
	return w.Sqr().SumKeep(dims...).Sqrt()
}

// adapted reports whether the layer's adapter is apart from its weight.
func (l *Linear) adapted() bool { return l.Adapter != nil && !l.Adapter.merged }

// forward is the layer with the adapter.
func (a *LoRA) forward(l *Linear, x *tensor.Tensor) *tensor.Tensor {
	down := a.Dropout.Forward(x).LinearWith(a.A.Tensor(), tensor.Epilogue{})
	up := tensor.Epilogue{Scale: a.Scale}
	if a.Magnitude == nil {
		up.Residual = product(x, l.Weight, optional(l.Bias))
		return down.LinearWith(a.B.Tensor(), up)
	}
	up.Residual = product(x, l.Weight, nil)
	length := lengths(a.sum(l.Weight.Tensor()).Detach()).FlattenAll()
	y := down.LinearWith(a.B.Tensor(), up).Mul(narrowed(widened(a.Magnitude.Tensor()).Div(length), x))
	if l.Bias != nil {
		y = y.Add(l.Bias.Tensor())
	}
	return y
}

// sum is the weight with the adapter but without a magnitude, in float32 or float64.
func (a *LoRA) sum(w *tensor.Tensor) *tensor.Tensor {
	return widened(w).Add(widened(a.B.Tensor()).MatMul(widened(a.A.Tensor())).MulScalar(a.Scale))
}

// Merge makes the adapters of a network a part of the weights, so that they cost nothing. With keep
// the weights from before are kept in memory, for [Unmerge]; else the adapters are taken out of the
// network. Weights that are shared change everywhere, and a quantized one is an error.
func Merge(m any, keep bool) error {
	return linears(m, func(name string, l *Linear) error {
		a := l.Adapter
		if a == nil || a.merged {
			return nil
		}
		if l.Weight.q != nil {
			return fmt.Errorf("nn: merge %s: %w", name, errQuantized(l.Weight))
		}
		old := l.Weight.Tensor().Detach()
		w := a.sum(old).Detach()
		if a.Magnitude != nil {
			w = w.Mul(widened(a.Magnitude.Tensor().Detach()).Unsqueeze(1).Div(lengths(w)))
		}
		kept := old.Copy()
		if err := kept.Err(); err != nil {
			return fmt.Errorf("nn: merge %s: %w", name, err)
		}
		if err := l.Weight.Set(narrowed(w, old)); err != nil {
			return fmt.Errorf("nn: merge %s: %w", name, err)
		}
		if a.merged, a.kept = true, kept; !keep {
			l.Adapter = nil
		}
		return nil
	})
}

// Unmerge gives weights the numbers from before [Merge], to the bit.
func Unmerge(m any) error {
	return linears(m, func(name string, l *Linear) error {
		a := l.Adapter
		if a == nil || !a.merged {
			return nil
		}
		if err := l.Weight.Set(a.kept); err != nil {
			return fmt.Errorf("nn: unmerge %s: %w", name, err)
		}
		a.merged, a.kept = false, nil
		return nil
	})
}

// Adapters returns the parameters of the adapters of a network by their names in it, which is a
// network for [Save], [Load] and [Trainable]: a file of adapters alone.
//
//	adapters, err := nn.Adapters(net)
//	err = nn.Save("adapter.safetensors", adapters, nil)
func Adapters(m any) (map[string]*Param, error) {
	out, in := map[string]*Param{}, map[*Param]bool{}
	err := linears(m, func(_ string, l *Linear) error {
		if l.Adapter != nil {
			in[l.Adapter.A], in[l.Adapter.B], in[l.Adapter.Magnitude] = true, true, true
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	list, err := List(m)
	for _, p := range list {
		if in[p.Param] {
			out[p.Name] = p.Param
		}
	}
	return out, err
}

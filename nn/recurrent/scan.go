package recurrent

import (
	"math"

	"github.com/gokiln/kiln/dsl"
	"github.com/gokiln/kiln/nn/internal/operand"
	"github.com/gokiln/kiln/nn/recurrent/kernels"
	"github.com/gokiln/kiln/ops"
	"github.com/gokiln/kiln/ops/dtype"
	"github.com/gokiln/kiln/tensor"
)

var selectiveScan = ops.NewGeneric("selective scan", kernels.SelectiveScan[ops.T, ops.O, ops.C])

// maxState is the most numbers of a channel's state: threads have a part of them in registers.
const maxState = 256

// ScanOptions are what a [SelectiveScan] has beyond the usual. All tensors may be nil.
type ScanOptions struct {
	Bias *tensor.Tensor // (heads), added to steps
	Skip *tensor.Tensor // (heads), times x and added to results
	Gate *tensor.Tensor // (tokens, heads·size): results are multiplied by silu(gate)

	Low, High float64 // bounds of steps behind softplus; High 0 is for none
}

// SelectiveScan is a state-space model whose parameters depend on tokens: that of Mamba (Gu and
// Dao, 2023), and that of Mamba-2 (Dao and Gu, "Transformers are SSMs", 2024), where A is a number
// for each head. Each channel of x has a state h of n numbers, which at each token becomes
//
//	Δ = softplus(step)
//	h ← exp(Δ·A)·h + Δ·x·B
//
// and gives C·h. x is (tokens, heads·size) and step is (tokens, heads), with heads of one channel
// in Mamba; a is (heads, n), or (heads) with one number for all of h. b and c are (tokens,
// groups·n), each group for as many heads in turn. These have one type, rows of any stride, and
// those with dimension heads may instead have the type that x is computed in. state is of that
// type, (states, heads·size, n) of n up to 256. The result is (tokens, heads·size).
func SelectiveScan(x, step, a, b, c, state *tensor.Tensor, on *Sequences, o ScanOptions) *tensor.Tensor {
	const op = "selective scan"
	if bad := on.checkPacked(op, x, step, a, b, c, state, o.Bias, o.Skip, o.Gate); bad != nil {
		return bad
	}
	w, bad := on.scan(op, x, step, a, b, c, state, &o)
	if bad != nil {
		return bad
	}
	gate := o.Gate
	if gate == nil {
		gate = x // one that is not read, as of the others
	}
	x, w.X = dense(x)
	step, w.Step = dense(step)
	b, w.B = dense(b)
	c, w.C = dense(c)
	gate, w.Gate = dense(gate)
	or := func(t *tensor.Tensor) *tensor.Tensor {
		if t == nil {
			t = a
		}
		return t.Contiguous()
	}
	k, err := selectiveScan.Of(ops.TypeArgs{T: x.DType(), O: a.DType()})
	if err != nil {
		return tensor.Fail(op, err)
	}
	if o.High == 0 {
		o.High = math.Inf(1)
	}
	low := dtype.FromFloat(state.DType(), o.Low).Bits()
	high := dtype.FromFloat(state.DType(), o.High).Bits()
	out := tensor.Empty(x.Device(), x.DType(), x.Shape()...)
	g := on.grid(x.Device(), w.Channels*kernels.ScanLanes, 1)
	return tensor.LaunchInto(out, k, g, state, x, step, b, c, gate, or(a), or(o.Bias), or(o.Skip),
		on.table, ops.ScalarArg(state.DType(), &low), ops.ScalarArg(state.DType(), &high), w)
}

// scan is the sizes of a selective scan, and what is wrong with its operands, which have no errors.
func (s *Sequences) scan(
	op string, x, step, a, b, c, state *tensor.Tensor, o *ScanOptions,
) (w kernels.Scan, bad *tensor.Tensor) {
	rows := []*tensor.Tensor{x, step, b, c}
	if o.Gate != nil {
		rows = append(rows, o.Gate)
	}
	if bad := operand.Floats(op, rows...); bad != nil {
		return w, bad
	}
	if state == nil || state.Rank() != 3 || a == nil || a.Rank() < 1 || a.Rank() > 2 || step.Rank() != 2 {
		return w, operand.Fail(op, tensor.ErrRank,
			"want steps (tokens, heads), a (heads) or (heads, n), and states (states, channels, n)")
	}
	w = kernels.Scan{
		Channels: x.Size(1), N: state.Size(2), Scalar: a.Rank() == 1,
		Bias: o.Bias != nil, Skip: o.Skip != nil, Gated: o.Gate != nil,
	}
	heads := step.Size(1)
	if w.N < 1 || w.N > maxState || heads < 1 || w.Channels%heads != 0 ||
		b.Rank() != 2 || b.Size(1)%w.N != 0 {
		return w, operand.Fail(op, tensor.ErrShape, "x %v, steps %v, b %v and states %v, "+
			"want (tokens, heads·size), (tokens, heads), (tokens, groups·n) and "+
			"(states, heads·size, n) of n up to %d",
			x.Shape(), step.Shape(), b.Shape(), state.Shape(), maxState)
	}
	groups := b.Size(1) / w.N
	if groups < 1 || heads%groups != 0 {
		return w, operand.Fail(op, tensor.ErrShape,
			"b %v of %d groups, which %d heads cannot be divided into", b.Shape(), groups, heads)
	}
	w.Size, w.Shared = w.Channels/heads, heads/groups
	w.Each = dsl.ConstInt((w.N + kernels.ScanLanes - 1) / kernels.ScanLanes)
	w.Whole = w.N%kernels.ScanLanes == 0
	rates := tensor.Shape{heads, w.N}[:a.Rank():2]
	for _, of := range []struct {
		name string
		t    *tensor.Tensor
		want tensor.Shape
		wide bool // the type may be that which is computed in
	}{
		{"steps", step, tensor.Shape{s.tokens, heads}, false}, {"a", a, rates, true},
		{"b", b, tensor.Shape{s.tokens, groups * w.N}, false}, {"c", c, b.Shape(), false},
		{"bias", o.Bias, tensor.Shape{heads}, true}, {"skip", o.Skip, tensor.Shape{heads}, true},
		{"gate", o.Gate, x.Shape(), false},
	} {
		switch {
		case of.t == nil:
		case !of.t.Shape().Equal(of.want):
			return w, operand.Fail(op, tensor.ErrShape, "%s %v, want %v", of.name, of.t.Shape(), of.want)
		case of.wide && (of.t.DType() != a.DType() ||
			a.DType() != x.DType() && a.DType() != x.DType().Compute()):
			return w, operand.Fail(op, tensor.ErrDTypeMismatch, "%s of %s with x of %s and a of %s",
				of.name, of.t.DType(), x.DType(), a.DType())
		}
	}
	return w, s.checkState(op, state, x, w.Channels, w.N)
}

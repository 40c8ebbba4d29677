package recurrent

import (
	"cmp"
	"math"

	"github.com/gokiln/kiln/dsl"
	"github.com/gokiln/kiln/nn/internal/operand"
	"github.com/gokiln/kiln/nn/recurrent/kernels"
	"github.com/gokiln/kiln/ops"
	"github.com/gokiln/kiln/runtime"
	"github.com/gokiln/kiln/tensor"
)

// maxKey is the most features of a key: threads have a part of them in registers.
const maxKey = 256

var gatedDelta = ops.NewGeneric("gated delta rule", kernels.GatedDelta[ops.T])

// DeltaOptions are what a [GatedDelta] has beyond the usual.
type DeltaOptions struct {
	Scale     float64 // of results; 0 for 1/√(features of a key)
	Normalise bool    // queries and keys are divided by their lengths
	Tiled     bool    // head i has the keys of head i mod (heads of keys), as in GGUF files
}

// GatedDelta is linear attention by the gated delta rule (Yang, Kautz and Hatamizadeh, "Gated delta
// networks: improving Mamba2 with delta rule", 2025). A head has a matrix S that maps keys to
// values; at each token it fades by exp(gate), and what it has for the key moves towards the value:
//
//	S ← exp(gate)·S
//	S ← S + beta·(v − S·k)·kᵀ
//	y = scale·S·q
//
// q and k are (tokens, heads of keys·key) and v is (tokens, heads·value), of which rows may have any
// stride; each head of keys is for as many heads of values, one behind the other. gate and beta are
// F32 (tokens, heads). state is F32 (states, heads, value, key), with keys of 256 features at most.
// The result is (tokens, heads·value) of the type of q, which is not F64.
func GatedDelta(
	q, k, v, gate, beta, state *tensor.Tensor, on *Sequences, o DeltaOptions,
) *tensor.Tensor {
	const op = "gated delta rule"
	if bad := on.checkPacked(op, q, k, v, gate, beta, state); bad != nil {
		return bad
	}
	if bad := operand.Floats(op, q, k, v); bad != nil {
		return bad
	}
	w, bad := on.delta(op, state, q, v)
	if bad != nil {
		return bad
	}
	keys := q.Size(1) / w.Key
	switch {
	case q.Size(1)%w.Key != 0 || keys == 0 || w.Heads%keys != 0:
		return operand.Fail(op, tensor.ErrShape, "queries %v for %d heads with keys of %d features",
			q.Shape(), w.Heads, w.Key)
	case !k.Shape().Equal(q.Shape()):
		return operand.Fail(op, tensor.ErrShape, "keys %v for queries %v", k.Shape(), q.Shape())
	case gate.DType() != tensor.F32 || beta.DType() != tensor.F32:
		return operand.Fail(op, tensor.ErrDType, "gates of %s and rates of %s, want f32",
			gate.DType(), beta.DType())
	}
	if want := (tensor.Shape{on.tokens, w.Heads}); !gate.Shape().Equal(want) ||
		!beta.Shape().Equal(want) {
		return operand.Fail(op, tensor.ErrShape, "gates %v and rates %v, want %v",
			gate.Shape(), beta.Shape(), want)
	}
	q, w.Query = dense(q)
	k, w.Keys = dense(k)
	v, w.Values = dense(v)
	gate, w.Gates = dense(gate)
	beta, w.Rates = dense(beta)
	w.Keyed, w.Normalise, w.Tiled = keys, dsl.ConstBool(o.Normalise), dsl.ConstBool(o.Tiled)
	scale := float32(o.Scale)
	if scale == 0 {
		scale = float32(1 / math.Sqrt(float64(w.Key)))
	}
	kernel, err := gatedDelta.Of(ops.TypeArgs{T: q.DType()})
	if err != nil {
		return tensor.Fail(op, err)
	}
	out := tensor.Empty(q.Device(), q.DType(), v.Shape()...)
	g := on.deltaGrid(q.Device(), &w)
	return tensor.LaunchInto(out, kernel, g, state, q, k, v, gate, beta, on.table, scale, w)
}

// delta is the sizes of a delta rule by its states, (states, heads, value, key), and checks these
// and the values.
func (s *Sequences) delta(op string, state, x, v *tensor.Tensor) (kernels.Delta, *tensor.Tensor) {
	var w kernels.Delta
	switch {
	case x.DType().Compute() != tensor.F32:
		return w, operand.Fail(op, tensor.ErrDType, "operands of f64: states are float32")
	case state == nil || state.Rank() != 4:
		return w, operand.Fail(op, tensor.ErrRank, "states, want (states, heads, value, key)")
	}
	w.Heads, w.Value, w.Key = state.Size(1), state.Size(2), state.Size(3)
	lanes := 8
	if info := ops.DeviceInfo(x.Device().Runtime()); ops.TraitsOf(&info).WarpBlocks {
		lanes = info.WarpSize // which then load vectors
	}
	w.Lanes, w.Rows = dsl.ConstInt(lanes), dsl.ConstInt((w.Key+lanes-1)/lanes)
	w.Whole = w.Key%lanes == 0
	switch {
	case w.Heads < 1 || w.Value < 1 || w.Key < 1 || w.Key > maxKey:
		return w, operand.Fail(op, tensor.ErrShape,
			"states %v, want (states, heads, value, key) of %d features of a key at most",
			state.Shape(), maxKey)
	case !v.Shape().Equal(tensor.Shape{s.tokens, w.Heads * w.Value}):
		return w, operand.Fail(op, tensor.ErrShape, "values %v, want (%d, %d)",
			v.Shape(), s.tokens, w.Heads*w.Value)
	}
	return w, s.checkState(op, state, x, w.Heads, w.Value, w.Key)
}

// deltaGrid has some threads for each column of each head of each sequence.
func (s *Sequences) deltaGrid(d *tensor.Device, w *kernels.Delta) runtime.Grid {
	g := s.grid(d, w.Value*int(w.Lanes), 1)
	g.Blocks.Y, g.Blocks.Z = w.Heads, s.count
	if info := ops.DeviceInfo(d.Runtime()); ops.TraitsOf(&info).SerialParts {
		g.Blocks.X = min(g.Blocks.X, (4*info.Units+w.Heads*s.count-1)/(w.Heads*s.count))
	}
	return g
}

var generalDelta = ops.NewGeneric("general delta rule", kernels.GeneralDelta[ops.T])

// GeneralDelta is linear attention by the delta rule of RWKV-7 (Peng et al., "RWKV-7 Goose with
// expressive dynamic state evolution", 2025). A head has a matrix S that maps keys to values; at each
// token each feature of keys fades by itself, and what is taken away is under another key than what
// is stored:
//
//	S ← S·diag(decay) − S·removed·(rate⊙removed)ᵀ + v·kᵀ
//	y = S·q
//
// q, k, decay, removed and rate are (tokens, heads·key) and v is (tokens, heads·value), of which rows
// may have any stride, decay in F32. state is F32 (states, heads, value, key), with keys of 256
// features at most. The result is (tokens, heads·value) of the type of q, which is not F64.
func GeneralDelta(
	q, k, v, decay, removed, rate, state *tensor.Tensor, on *Sequences,
) *tensor.Tensor {
	const op = "general delta rule"
	if bad := on.checkPacked(op, q, k, v, decay, removed, rate, state); bad != nil {
		return bad
	}
	if bad := operand.Floats(op, q, k, v, removed, rate); bad != nil {
		return bad
	}
	w, bad := on.delta(op, state, q, v)
	if bad != nil {
		return bad
	}
	want := tensor.Shape{on.tokens, w.Heads * w.Key}
	for i, x := range []*tensor.Tensor{q, k, decay, removed, rate} {
		if !x.Shape().Equal(want) {
			return operand.Fail(op, tensor.ErrShape, "%s %v, want %v",
				[]string{"queries", "keys", "decays", "removed keys", "rates"}[i], x.Shape(), want)
		}
	}
	if decay.DType() != tensor.F32 {
		return operand.Fail(op, tensor.ErrDType, "decays of %s, want f32", decay.DType())
	}
	q, w.Query = dense(q)
	k, w.Keys = dense(k)
	v, w.Values = dense(v)
	decay, w.Gates = dense(decay)
	removed, w.Removed = dense(removed)
	rate, w.Rates = dense(rate)
	kernel, err := generalDelta.Of(ops.TypeArgs{T: q.DType()})
	if err != nil {
		return tensor.Fail(op, err)
	}
	out := tensor.Empty(q.Device(), q.DType(), v.Shape()...)
	g := on.deltaGrid(q.Device(), &w)
	return tensor.LaunchInto(out, kernel, g, state, q, k, v, decay, removed, rate, on.table, w)
}

var deltaGates = ops.NewGeneric("gates of the delta rule", kernels.DeltaGates[ops.T])

// DeltaGates returns the gates and the rates of a [GatedDelta] as Qwen3-Next has them, in F32: what
// heads forget, rate·softplus(a + bias), and how much they store, σ(b). a and b are (tokens, heads),
// bias and rate are F32 (heads). An operand that wants a gradient is an error of kind ErrNoGradient.
func DeltaGates(a, b, bias, rate *tensor.Tensor) (gate, beta *tensor.Tensor) {
	const op = "gates of the delta rule"
	fail := func(bad *tensor.Tensor) (gate, beta *tensor.Tensor) { return bad, bad }
	if bad := cmp.Or(operand.Floats(op, a, b), operand.Floats(op, bias, rate)); bad != nil {
		return fail(bad)
	}
	if a.Rank() != 2 || !b.Shape().Equal(a.Shape()) {
		return fail(operand.Fail(op, tensor.ErrShape, "%v and %v, want (tokens, heads) twice",
			a.Shape(), b.Shape()))
	}
	heads := tensor.Shape{a.Size(1)}
	switch {
	case a.DType().Compute() != tensor.F32 || bias.DType() != tensor.F32:
		return fail(operand.Fail(op, tensor.ErrDType, "%s with biases and rates of %s, want f32 of both",
			a.DType(), bias.DType()))
	case !bias.Shape().Equal(heads) || !rate.Shape().Equal(heads):
		return fail(operand.Fail(op, tensor.ErrShape, "biases %v and rates %v, want %v",
			bias.Shape(), rate.Shape(), heads))
	case a.RequiresGrad() || b.RequiresGrad() || bias.RequiresGrad() || rate.RequiresGrad():
		return fail(operand.Fail(op, tensor.ErrNoGradient, "an operand wants a gradient: Detach it"))
	}
	w := kernels.Gates{Count: a.Count(), Heads: a.Size(1)}
	gate = tensor.Empty(a.Device(), tensor.F32, a.Shape()...)
	beta = tensor.Empty(a.Device(), tensor.F32, a.Shape()...)
	if w.Count == 0 {
		return gate, beta
	}
	a, w.A = dense(a)
	b, w.B = dense(b)
	k, err := deltaGates.Of(ops.TypeArgs{T: a.DType()})
	if err != nil {
		return fail(tensor.Fail(op, err))
	}
	g := runtime.Cover(w.Count, 128)
	err = tensor.Launch(k, g, gate, beta, a, b, bias.Contiguous(), rate.Contiguous(), w)
	if err != nil {
		return fail(tensor.Fail(op, err))
	}
	return gate, beta
}

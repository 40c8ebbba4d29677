package nn

import (
	"cmp"
	"fmt"

	"github.com/gokiln/kiln/tensor"
)

// RecurrentOptions are what a recurrent layer has beyond the usual. The zero value is PyTorch's
// default.
type RecurrentOptions struct {
	Layers        int     // one above the other, 0 for 1
	Bidirectional bool    // half of the outputs are of a second pass, from the last time step to the first
	NoBias        bool    //
	Dropout       float64 // the share of numbers between layers that is set to zero in training
	ReLU          bool    // in place of tanh; of an [RNN] only

	// Proj is how many features the output of an [LSTM], and with it the state H, is projected to,
	// fewer than the hidden ones; 0 for no projection (Sak et al., "Long short-term memory based
	// recurrent neural network architectures for large vocabulary speech recognition", 2014).
	Proj int
}

// RecurrentState is the state of a recurrent layer between time steps: (layers·directions, b,
// hidden) each, in PyTorch's order. C is nil but of an [LSTM], of which H has Proj features if there
// is a projection.
type RecurrentState struct{ H, C *tensor.Tensor }

// Recurrent is the part that [RNN], [LSTM] and [GRU] have in common.
//
// Params has weight_ih_l0 (gates·hidden, in), weight_hh_l0 (gates·hidden, hidden), bias_ih_l0 and
// bias_hh_l0 (gates·hidden), those of further layers as _l1 and so on, and those of the second
// direction with _reverse behind: PyTorch's names and order of gates. With a projection weight_hh is
// (gates·hidden, proj), and there is weight_hr (proj, hidden). All begin uniformly within 1/√hidden.
type Recurrent struct {
	Params  map[string]*Param `nn:",inline"`
	Dropout Dropout
	cell    cell
	hidden  int
	proj    int // 0 for no projection
	layers  int
	dirs    int
}

// RNN is a layer whose state is tanh(W·x + b + U·h + c), or that with ReLU (Elman, 1990).
type RNN struct {
	Recurrent `nn:",inline"`
}

// LSTM is a layer of long short-term memory. The order of its gates is i, f, g, o.
type LSTM struct {
	Recurrent `nn:",inline"`
}

// GRU is a layer of gated recurrent units. The order of its gates is r, z, n.
type GRU struct {
	Recurrent `nn:",inline"`
}

// NewRNN returns a layer from in features to hidden ones.
func NewRNN(in, hidden int, o RecurrentOptions) *RNN {
	c := elman
	if o.ReLU {
		c = elmanReLU
	}
	return &RNN{newRecurrent(c, in, hidden, o)}
}

// NewLSTM returns a layer from in features to hidden ones.
func NewLSTM(in, hidden int, o RecurrentOptions) *LSTM {
	return &LSTM{newRecurrent(lstm, in, hidden, o)}
}

// NewGRU returns a layer from in features to hidden ones.
func NewGRU(in, hidden int, o RecurrentOptions) *GRU { return &GRU{newRecurrent(gru, in, hidden, o)} }

func newRecurrent(c cell, in, hidden int, o RecurrentOptions) Recurrent {
	r := Recurrent{
		Params: map[string]*Param{}, Dropout: Dropout{P: o.Dropout},
		cell: c, hidden: hidden, proj: o.Proj, layers: max(o.Layers, 1), dirs: 1,
	}
	if o.Bidirectional {
		r.dirs = 2
	}
	gates, init := c.gates()*hidden, within(float64(hidden))
	for l := range r.layers {
		for dir := range r.dirs {
			suffix := passName(l, dir)
			r.Params["weight_ih"+suffix] = NewParam(init, gates, in)
			r.Params["weight_hh"+suffix] = NewParam(init, gates, r.out())
			if r.proj != 0 {
				r.Params["weight_hr"+suffix] = NewParam(init, r.out(), hidden)
			}
			if !o.NoBias {
				r.Params["bias_ih"+suffix] = NewParam(init, gates)
				r.Params["bias_hh"+suffix] = NewParam(init, gates)
			}
		}
		in = r.out() * r.dirs
	}
	return r
}

// passName is what names of the parameters of a layer and a direction end with.
func passName(layer, dir int) string {
	if dir == 1 {
		return fmt.Sprintf("_l%d_reverse", layer)
	}
	return fmt.Sprintf("_l%d", layer)
}

// Hidden is the number of hidden features. The output has as many, or those of the projection, for
// each direction.
func (r *Recurrent) Hidden() int { return r.hidden }

// out is the number of features of the state H.
func (r *Recurrent) out() int { return cmp.Or(max(r.proj, 0), r.hidden) }

// Forward returns the outputs (b, t, directions·hidden) of all time steps of x, (b, t, in), from a
// state of zeros.
func (r *Recurrent) Forward(x *tensor.Tensor) *tensor.Tensor {
	y, _ := r.Run(x, RecurrentState{})
	return y
}

// Run is [Recurrent.Forward] from a state, of which nil tensors are zeros, to the state at the end.
// It computes the inputs' part of the gates for all time steps at once.
func (r *Recurrent) Run(x *tensor.Tensor, from RecurrentState) (*tensor.Tensor, RecurrentState) {
	if err := r.check(x, from, 3); err != nil {
		return failedState("recurrent", err)
	}
	if x.Size(1) == 0 {
		return failedState("recurrent", fmt.Errorf("%w: %v has no time step", tensor.ErrEmpty, x.Shape()))
	}
	from = r.zeros(x, from)
	var hs, cs []*tensor.Tensor
	for l := range r.layers {
		if l > 0 {
			x = r.Dropout.Forward(x)
		}
		var outs []*tensor.Tensor
		for dir := range r.dirs {
			p := r.pass(l, dir)
			out, end := p.run(x, from.of(l*r.dirs+dir), dir == 1)
			outs, hs = append(outs, out), append(hs, end.H)
			if end.C != nil {
				cs = append(cs, end.C)
			}
		}
		if x = outs[0]; len(outs) > 1 {
			x = tensor.Cat(-1, outs...)
		}
	}
	return x, stacked(hs, cs)
}

// Step returns the output (b, hidden) of one time step of x, (b, in), and the state behind it. A
// layer of two directions has none.
func (r *Recurrent) Step(x *tensor.Tensor, from RecurrentState) (*tensor.Tensor, RecurrentState) {
	if err := r.check(x, from, 2); err != nil {
		return failedState("recurrent step", err)
	}
	if r.dirs > 1 {
		return failedState("recurrent step", fmt.Errorf("%w: a layer of two directions needs all time steps at once", tensor.ErrArgument))
	}
	from = r.zeros(x, from)
	var hs, cs []*tensor.Tensor
	for l := range r.layers {
		if l > 0 {
			x = r.Dropout.Forward(x)
		}
		p := r.pass(l, 0)
		end := p.cell.step(p.inputs(x), from.of(l), &p)
		x, hs = end.H, append(hs, end.H)
		if end.C != nil {
			cs = append(cs, end.C)
		}
	}
	return x, stacked(hs, cs)
}

// check is an error if x has not the rank, or a state not the shape.
func (r *Recurrent) check(x *tensor.Tensor, from RecurrentState, rank int) error {
	if x.Err() != nil {
		return x.Err()
	}
	if x.Rank() != rank {
		return fmt.Errorf("%w: an input of %v, want %d dimensions", tensor.ErrRank, x.Shape(), rank)
	}
	if r.proj != 0 && (r.cell != lstm || r.proj < 0 || r.proj >= r.hidden) {
		return fmt.Errorf("%w: a projection to %d features: an LSTM has one to fewer than its %d", tensor.ErrArgument, r.proj, r.hidden)
	}
	for i, s := range []*tensor.Tensor{from.H, from.C} {
		want := tensor.Shape{r.layers * r.dirs, x.Size(0), []int{r.out(), r.hidden}[i]}
		switch {
		case s == nil:
		case s.Err() != nil:
			return s.Err()
		case !s.Shape().Equal(want):
			return fmt.Errorf("%w: a state of %v, want %v", tensor.ErrShape, s.Shape(), want)
		}
	}
	return nil
}

// zeros is the state with zeros for what is nil.
func (r *Recurrent) zeros(x *tensor.Tensor, s RecurrentState) RecurrentState {
	zeros := func(features int) *tensor.Tensor {
		return tensor.Zeros(x.Device(), x.DType(), r.layers*r.dirs, x.Size(0), features)
	}
	if s.H == nil {
		s.H = zeros(r.out())
	}
	if s.C == nil && r.cell == lstm {
		s.C = zeros(r.hidden)
	}
	return s
}

// of is the state of one layer and direction.
func (s RecurrentState) of(i int) RecurrentState {
	out := RecurrentState{H: s.H.GetOn(0, i)}
	if s.C != nil {
		out.C = s.C.GetOn(0, i)
	}
	return out
}

func stacked(hs, cs []*tensor.Tensor) RecurrentState {
	s := RecurrentState{H: tensor.Stack(0, hs...)}
	if len(cs) > 0 {
		s.C = tensor.Stack(0, cs...)
	}
	return s
}

func failedState(op string, err error) (*tensor.Tensor, RecurrentState) {
	bad := tensor.Fail(op, err)
	return bad, RecurrentState{H: bad, C: bad}
}

// pass is the parameters of a layer in one direction.
type pass struct {
	cell               cell
	wih, whh, bih, bhh *tensor.Tensor
	whr                *tensor.Tensor // of the projection, nil if there is none
}

func (r *Recurrent) pass(layer, dir int) pass {
	suffix := passName(layer, dir)
	get := func(name string) *tensor.Tensor { return optional(r.Params[name+suffix]) }
	p := pass{cell: r.cell, wih: get("weight_ih"), whh: get("weight_hh"), bih: get("bias_ih"), bhh: get("bias_hh")}
	needed := []**tensor.Tensor{&p.wih, &p.whh}
	if r.proj != 0 {
		p.whr = get("weight_hr")
		needed = append(needed, &p.whr)
	}
	for _, w := range needed {
		if *w == nil {
			*w = (*Param)(nil).Tensor()
		}
	}
	return p
}

// inputs is the inputs' part of the gates.
func (p *pass) inputs(x *tensor.Tensor) *tensor.Tensor {
	return x.LinearWith(p.wih, tensor.Epilogue{Bias: p.bih})
}

// run goes over the time steps of x, (b, t, in).
func (p *pass) run(x *tensor.Tensor, s RecurrentState, reverse bool) (*tensor.Tensor, RecurrentState) {
	gates := p.inputs(x)
	if gates.Err() != nil {
		return failedState("recurrent", gates.Err())
	}
	steps := unbind(gates, 1)
	out := make([]*tensor.Tensor, len(steps))
	for i := range steps {
		if reverse {
			i = len(steps) - 1 - i
		}
		s = p.cell.step(steps[i], s, p)
		out[i] = s.H
	}
	return tensor.Stack(1, out...), s
}

// unbind is the parts of x at each index of a dimension. They are halves of halves: the gradient of
// a part has zeros for the rest of what it was cut from, which would else be as many times all of
// x.
func unbind(x *tensor.Tensor, d int) []*tensor.Tensor {
	n := x.Size(d)
	if n == 1 {
		return []*tensor.Tensor{x.Squeeze(d)}
	}
	return append(unbind(x.Narrow(d, 0, n/2), d), unbind(x.Narrow(d, n/2, n-n/2), d)...)
}

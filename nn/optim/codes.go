package optim

import (
	"fmt"
	"math"
	"slices"

	"github.com/gokiln/kiln/nn/optim/kernels"
	"github.com/gokiln/kiln/ops"
	"github.com/gokiln/kiln/runtime"
	"github.com/gokiln/kiln/tensor"
)

var updateCodes = ops.NewGeneric("update", kernels.UpdateCodes[ops.T, ops.O])

// fewest is how many elements a variable has whose states are stored in 8 bits: those of a smaller
// one are not worth it (Dettmers et al., 2022, section 4).
const fewest = 4096

// coded is an elementwise algorithm with states of 8 bits: see kernels.UpdateCodes.
type coded struct {
	plain *elementwise
	books map[*tensor.Device]*tensor.Tensor
}

// inCodes returns an algorithm whose first states are stored in 8 bits.
func inCodes(a *elementwise) *coded { return &coded{a, map[*tensor.Device]*tensor.Tensor{}} }

func (a *coded) elementwise(p *param) *elementwise {
	if a.takes(p) {
		return nil
	}
	return a.plain
}

func (a *coded) numbers(p *param, at stepping) stepNumbers { return a.plain.numbers(p, at) }

// takes reports whether the states of a variable are stored in 8 bits.
func (a *coded) takes(p *param) bool { return p.v.Tensor().Count() >= fewest }

func (a *coded) check(p *param) error {
	if a.plain.names[2] != "" {
		return fmt.Errorf("%w: the largest second moment has no form in 8 bits", tensor.ErrArgument)
	}
	if p.compute != tensor.F32 {
		return fmt.Errorf("%w: states in 8 bits are for variables that are computed in f32, not %s", tensor.ErrDType, p.compute)
	}
	return nil
}

func (a *coded) prepare(p *param) error {
	if !a.takes(p) {
		return a.plain.prepare(p)
	}
	x := p.v.Tensor()
	if err := a.book(x.Device()).Err(); err != nil {
		return err
	}
	blocks := (x.Count() + kernels.CodeBlock - 1) / kernels.CodeBlock
	for _, name := range a.plain.names {
		if name == "" || p.state(name) != nil {
			continue
		}
		p.states = append(p.states,
			state{name, tensor.Zeros(x.Device(), tensor.U8, x.Shape()...)},
			state{name + ".scale", tensor.Zeros(x.Device(), tensor.F32, blocks)})
	}
	return nil
}

func (a *coded) update(p *param, u updating) error {
	if !a.takes(p) {
		return a.plain.update(p, u)
	}
	x := p.v.Tensor()
	k, err := updateCodes.Of(ops.TypeArgs{T: x.DType(), O: u.grad.DType(), C: tensor.F32})
	if err != nil {
		return err
	}
	s0, a0 := p.state(a.plain.names[0]), p.state(a.plain.names[0]+".scale")
	s1, a1, span := s0, a0, kernels.Span{Vec: 1, States: 1, N: x.Count()}
	if name := a.plain.names[1]; name != "" {
		s1, a1, span.States = p.state(name), p.state(name+".scale"), 3
	}
	master := u.scale // what the kernel does not use
	if p.master != nil {
		master, span.Master = p.master, true
	}
	grid := runtime.Blocks((x.Count()+kernels.CodeBlock-1)/kernels.CodeBlock, kernels.CodeBlock)
	return tensor.Launch(k, grid, x, master, u.grad, s0, s1, a0, a1, a.book(x.Device()), u.scale, u.steps, p.index, ruleIn(tensor.F32, a.plain.rule), span, a.plain.fn.In(tensor.F32))
}

// book returns both lists of codes on a device.
func (a *coded) book(d *tensor.Device) *tensor.Tensor {
	return kept(a.books, d, func() *tensor.Tensor {
		return tensor.From(d, append(dynamicCodes(true), dynamicCodes(false)...))
	})
}

// dynamicCodes returns what 8 bits stand for in dynamic tree quantisation (Dettmers, "8-Bit
// Approximations for Parallelism in Deep Learning", 2016, section 2.1.4), in ascending order: 0, 1,
// and in each of the seven decades below 1 twice as many numbers as in the one before, the middles
// of equal parts of it. With signs the numbers below 0 take half of them.
func dynamicCodes(signed bool) []float32 {
	list := []float32{0, 1}
	for decade := range 7 {
		unit, n := math.Pow(10, float64(decade-6)), 2<<decade
		if signed {
			n = 1 << decade
		}
		for k := range n {
			x := unit * (0.1 + 0.9*(float64(k)+0.5)/float64(n))
			list = append(list, float32(x))
			if signed {
				list = append(list, float32(-x))
			}
		}
	}
	slices.Sort(list)
	return list
}

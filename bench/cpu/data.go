package main

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"

	"github.com/gokiln/kiln/dsl"
	"github.com/gokiln/kiln/runtime"
)

// step is a launch.
type step struct {
	kernel any
	grid   runtime.Grid
	args   []any
}

// problem is a case made concrete: launches, buffers and what to compare.
type problem struct {
	dev   *runtime.Device
	steps []step
	twin  []any   // arguments of the twin; those of the first step if nil
	bytes float64 // moved: every operand read once, every result written once
	flops float64 // if arithmetic is the bound
	tol   float64 // of a result, as a fraction of the larger of 1 and its size
	outs  []output
	frees []func()
	errs  []error // of the buffers
	rand  *rand.Rand

	// Of cases beside plain Go: the algorithm, what brings back its operands, and its results.
	plain, again func()
	answers      []func() []float64
}

func newProblem(dev *runtime.Device) *problem {
	return &problem{dev: dev, rand: rand.New(rand.NewPCG(1, 2))}
}

// output is a buffer to compare.
type output struct {
	reset func() error
	read  func() ([]float64, error)
}

func (p *problem) free() {
	for _, f := range p.frees {
		f()
	}
}

// reset puts the outputs back as they were before the first launch.
func (p *problem) reset() error {
	var errs []error
	for _, o := range p.outs {
		errs = append(errs, o.reset())
	}
	return errors.Join(errs...)
}

// results reads the outputs.
func (p *problem) results() ([][]float64, error) {
	var list [][]float64
	for _, o := range p.outs {
		values, err := o.read()
		if err != nil {
			return nil, err
		}
		list = append(list, values)
	}
	return list, nil
}

// compare reports the first difference over the tolerance.
func (p *problem) compare(ours, twins [][]float64) error {
	for i := range ours {
		for j, a := range ours[i] {
			b := twins[i][j]
			if diff := math.Abs(a - b); a != b && !(diff <= p.tol*max(math.Abs(b), 1)) {
				return fmt.Errorf("output %d: element %d of %d is %v, the twin has %v", i, j, len(ours[i]), a, b)
			}
		}
	}
	return nil
}

// input allocates n elements of what gen draws.
func input[T dsl.Number](p *problem, n int, gen func(*rand.Rand) T) runtime.Slice[T] {
	values := make([]T, n)
	for i := range values {
		values[i] = gen(p.rand)
	}
	s, err := runtime.From(p.dev, values)
	p.errs = append(p.errs, err)
	p.frees = append(p.frees, func() { s.Free() })
	return s
}

// inout is an input that is an output, too: its values are put back by reset.
func inout[T dsl.Number](p *problem, n int, gen func(*rand.Rand) T) runtime.Slice[T] {
	s := input(p, n, gen)
	values, err := s.Host()
	p.errs = append(p.errs, err)
	p.outs = append(p.outs, output{
		reset: func() error { return s.CopyFrom(values) },
		read: func() ([]float64, error) {
			got, err := s.Host()
			list := make([]float64, len(got))
			for i, v := range got {
				list[i] = float64(v)
			}
			return list, err
		},
	})
	return s
}

// result allocates n elements that hold -1 until they are written.
func newResult[T dsl.Number](p *problem, n int) runtime.Slice[T] {
	return inout(p, n, func(*rand.Rand) T { return T(0) - 1 })
}

func uniform(lo, hi float32) func(*rand.Rand) float32 {
	return func(r *rand.Rand) float32 { return lo + (hi-lo)*r.Float32() }
}

// pack writes an argument block, without compile-time parameters, as all structs are.
func pack(args []any) []byte {
	var out []byte
	word := func(size int, bits uint64) {
		for len(out)%size != 0 {
			out = append(out, 0)
		}
		for i := range size {
			out = append(out, byte(bits>>(8*i)))
		}
	}
	for _, a := range args {
		switch x := a.(type) {
		case int:
			word(8, uint64(x))
		case float32:
			word(4, uint64(math.Float32bits(x)))
		case addressed:
			word(8, x.Addr())
			word(8, uint64(x.Len()))
		case dsl.ConstInt:
		default:
			if reflect.TypeOf(a).Kind() != reflect.Struct {
				panic(fmt.Sprintf("argument of type %T", a))
			}
		}
	}
	return out
}

// addressed is a Slice of any element type.
type addressed interface {
	Addr() uint64
	Len() int
}

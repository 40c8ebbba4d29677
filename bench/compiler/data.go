package main

import (
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"unsafe"

	"github.com/gokiln/kiln/dsl"
	"github.com/gokiln/kiln/runtime"
)

// problem is a case made concrete: buffers, launch and what must come out.
type problem struct {
	grid  runtime.Grid
	args  []any
	bytes float64 // moved: every operand read once, every result written once
	flops float64 // if arithmetic is the bound
	reset func() error
	check func() error
	frees []func()
}

func (p *problem) free() {
	for _, f := range p.frees {
		f()
	}
}

// period is after how many elements the content of large inputs repeats.
const period = 1 << 18

// input is a buffer that repeats values.
type input[T dsl.Number] struct {
	runtime.Slice[T]
	values []T
}

// at returns element i.
func (in *input[T]) at(i int) T { return in.values[i%len(in.values)] }

// fill writes the values, copying what is there in doubling lengths.
func (in *input[T]) fill() error {
	if err := in.Slice.Slice(0, len(in.values)).CopyFrom(in.values); err != nil {
		return err
	}
	for have := len(in.values); have < in.Len(); {
		more := min(have, in.Len()-have)
		if err := runtime.Copy(in.Slice.Slice(have, have+more), in.Slice.Slice(0, more)); err != nil {
			return err
		}
		have += more
	}
	return nil
}

// newInput allocates n elements that repeat what gen draws.
func newInput[T dsl.Number](p *problem, dev *runtime.Device, n int, gen func(*rand.Rand) T) (*input[T], error) {
	s, err := runtime.Alloc[T](dev, n)
	if err != nil {
		return nil, err
	}
	p.frees = append(p.frees, func() { s.Free() })
	r := rand.New(rand.NewPCG(1, uint64(n+len(p.frees))))
	in := &input[T]{Slice: s, values: make([]T, min(n, period))}
	for i := range in.values {
		in.values[i] = gen(r)
	}
	return in, in.fill()
}

// newOutput allocates n elements that reset fills with bytes of value fill: 0xff,
// which is NaN or -1, or 0 where the kernel adds to what is there.
func newOutput[T dsl.Number](p *problem, dev *runtime.Device, n int, fill byte) (runtime.Slice[T], error) {
	s, err := runtime.Alloc[T](dev, n)
	if err != nil {
		return s, err
	}
	p.frees = append(p.frees, func() { s.Free() })
	pattern := make([]T, min(n, period))
	raw := unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(pattern))), len(pattern)*int(unsafe.Sizeof(pattern[0])))
	for i := range raw {
		raw[i] = fill
	}
	in := &input[T]{Slice: s, values: pattern}
	p.reset = both(p.reset, in.fill)
	return s, in.fill()
}

func both(a, b func() error) func() error {
	if a == nil {
		return b
	}
	return func() error {
		if err := a(); err != nil {
			return err
		}
		return b()
	}
}

func uniform(lo, hi float32) func(*rand.Rand) float32 {
	return func(r *rand.Rand) float32 { return lo + (hi-lo)*r.Float32() }
}

// expect compares elements of out with what want returns, all of them or about
// a thousand spread over the length. The error may be a fraction tol of the
// larger of 1 and the value.
func expect[T dsl.Number](out runtime.Slice[T], tol float64, want func(i int) T) func() error {
	return func() error {
		got, err := out.Host()
		if err != nil {
			return err
		}
		step := max(len(got)/1000, 1)
		if step > 1 {
			step |= 1 // all columns of a power-of-two row take part
		}
		for i := 0; i < len(got); i += step {
			w := want(i)
			if diff := math.Abs(float64(got[i]) - float64(w)); got[i] != w && !(diff <= tol*max(math.Abs(float64(w)), 1)) {
				return fmt.Errorf("element %d of %d is %v, want %v", i, len(got), got[i], w)
			}
		}
		return nil
	}
}

// pack writes the argument block of a launch.
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
		default:
			panic(fmt.Sprintf("argument of type %s", reflect.TypeOf(a)))
		}
	}
	return out
}

// addressed is a Slice of any element type.
type addressed interface {
	Addr() uint64
	Len() int
}

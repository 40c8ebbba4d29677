package tensor

import (
	"fmt"
	"math"
	"sync"

	"github.com/gokiln/kiln/ops/dtype"
	randomops "github.com/gokiln/kiln/ops/random"
	"github.com/gokiln/kiln/runtime"
)

// DefaultSeed is the seed of a device that no seed was set for.
const DefaultSeed = 299792458

// random is the state of a device's random numbers: they are those of a counter.
type random struct {
	mu   sync.Mutex
	key  uint64
	next uint64 // of the counters that no number was drawn from, counted from those in base if there is one

	base *Tensor // of a graph that is captured
}

func (r *random) seed(x uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.base == nil {
		r.key, r.next = x, 0
	}
}

// take reserves counters for n numbers.
func (r *random) take(n int) RandomNumbers {
	r.mu.Lock()
	defer r.mu.Unlock()
	at := RandomNumbers{RandomState: RandomState{Seed: r.key, Next: r.next}, Base: r.base}
	r.next += (uint64(n) + randomops.PerCounter - 1) / randomops.PerCounter
	return at
}

// launch reserves the counters of a launch of a graph.
func (r *random) launch(counters uint64) RandomState {
	r.mu.Lock()
	defer r.mu.Unlock()
	at := RandomState{Seed: r.key, Next: r.next}
	r.next += counters
	return at
}

// capture has numbers be relative to base from here on, until done is called, which returns how many
// counters were drawn from.
func (r *random) capture(base *Tensor) (done func() uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	key, next := r.key, r.next
	r.key, r.next, r.base = 0, 0, base
	return func() uint64 {
		r.mu.Lock()
		defer r.mu.Unlock()
		counters := r.next
		r.key, r.next, r.base = key, next, nil
		return counters
	}
}

// SetSeed starts the device's random numbers anew. The same seed gives the same numbers,
// on every kind of device. While a graph is captured it does nothing: seed before a launch.
func (d *Device) SetSeed(seed uint64) { d.random.seed(seed) }

// Seed is the seed that the device's random numbers started with.
func (d *Device) Seed() uint64 {
	d.random.mu.Lock()
	defer d.random.mu.Unlock()
	return d.random.key
}

// RandomState is where a device's random numbers are: the seed, and how many blocks of them were
// drawn.
type RandomState struct {
	Seed uint64 `json:"seed"`
	Next uint64 `json:"next"`
}

// RandomState is where the device's random numbers are, to go on there later.
func (d *Device) RandomState() RandomState {
	d.random.mu.Lock()
	defer d.random.mu.Unlock()
	return RandomState{Seed: d.random.key, Next: d.random.next}
}

// SetRandomState has the device's random numbers go on where those of a device of any kind were. While
// a graph is captured it does nothing.
func (d *Device) SetRandomState(s RandomState) {
	d.random.mu.Lock()
	defer d.random.mu.Unlock()
	if d.random.base == nil {
		d.random.key, d.random.next = s.Seed, s.Next
	}
}

// TakeRandom reserves the device's next n random numbers for a kernel of a program, and returns
// where they begin: number i is word i%4 of the Philox counter Next + i/4 under the key Seed, as
// ops/random/kernels has it. A graph cannot hold them, as they would be the same in each launch: that
// is an error of kind [runtime.ErrCapturing], and [Device.DrawRandom] is for kernels of graphs. An n
// below 0 is an error of kind [ErrArgument].
func (d *Device) TakeRandom(n int) (RandomState, error) {
	at, err := d.DrawRandom(n)
	if err == nil && at.Base.Count() > 0 {
		err = wrap("random numbers", fmt.Errorf("%w: they would be the same in each launch", runtime.ErrCapturing))
	}
	if err != nil {
		return RandomState{}, err
	}
	return at.RandomState, nil
}

// RandomNumbers is where random numbers begin that were reserved for a kernel.
type RandomNumbers struct {
	RandomState

	// Base is empty, or in a captured graph two numbers of I64 on the device: the key, and the
	// counter that Next is counted from. Each launch of the graph sets them, so that it draws new
	// numbers. Start in ops/random/kernels is for kernels that get it.
	Base *Tensor
}

// DrawRandom is [Device.TakeRandom] for kernels that a graph may hold, too.
func (d *Device) DrawRandom(n int) (RandomNumbers, error) {
	const op = "random numbers"
	if err := d.check(); err != nil {
		return RandomNumbers{}, wrap(op, err)
	}
	if n < 0 {
		return RandomNumbers{}, wrap(op, fmt.Errorf("%w: %d of them", ErrArgument, n))
	}
	at := d.random.take(n)
	if at.Base == nil {
		at.Base = Empty(d, I64, 0)
	}
	return at, at.Base.Err()
}

// Rand returns random numbers that are distributed uniformly, from low up to but not including
// high; low where both are the same. A low above high, or that is not finite, is an error of kind
// [ErrArgument].
func Rand(d *Device, dt DType, low, high float64, shape ...int) *Tensor {
	if !(low <= high) || math.IsInf(low, 0) || math.IsInf(high, 0) {
		return failf("rand", ErrArgument, "numbers from %v to %v", low, high)
	}
	return draw("rand", randomops.Uniform, d, dt, low, high, shape)
}

// Randn returns random numbers of a normal distribution. A mean or a deviation that is not finite,
// or a negative deviation, is an error of kind [ErrArgument].
func Randn(d *Device, dt DType, mean, std float64, shape ...int) *Tensor {
	if !(std >= 0) || math.IsInf(std, 0) || math.IsInf(mean, 0) || mean != mean {
		return failf("randn", ErrArgument, "a mean of %v and a deviation of %v", mean, std)
	}
	return draw("randn", randomops.Normal, d, dt, mean, std, shape)
}

// RandLike is [Rand] with the shape, type and device of t.
func (t *Tensor) RandLike(low, high float64) *Tensor {
	if bad := firstOf("rand", t); bad != nil {
		return bad
	}
	return Rand(t.dev, t.dtype, low, high, t.layout.Shape()...).scoped(t)
}

// RandnLike is [Randn] with the shape, type and device of t.
func (t *Tensor) RandnLike(mean, std float64) *Tensor {
	if bad := firstOf("randn", t); bad != nil {
		return bad
	}
	return Randn(t.dev, t.dtype, mean, std, t.layout.Shape()...).scoped(t)
}

func draw(op string, kind *randomops.Random, d *Device, dt DType, a, b float64, shape Shape) *Tensor {
	if !dt.IsFloat() {
		return failf(op, ErrDType, "%s: random numbers are of floating-point types", dt)
	}
	t, err := empty(d, dt, append(Shape(nil), shape...))
	if err == nil {
		var at RandomNumbers
		if at, err = d.DrawRandom(t.Count()); err == nil {
			err = kind.RunFrom(d.stream, t.view(), at.Base.view(), at.Seed, at.Next, dtype.New(a), dtype.New(b))
		}
	}
	if err != nil {
		return t.dropped(op, err)
	}
	return t
}

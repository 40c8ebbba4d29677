package random

import (
	"fmt"

	"github.com/gokiln/kiln/jit"
	"github.com/gokiln/kiln/ops"
	"github.com/gokiln/kiln/ops/dtype"
	"github.com/gokiln/kiln/ops/random/kernels"
	"github.com/gokiln/kiln/runtime"
)

// Random is a distribution of random numbers. Element i of a result is made of counter
// first + i/[PerCounter], and of nothing else: the same on every device.
type Random struct {
	name   string
	kernel *ops.Generic
}

var (
	// Uniform is numbers from a up to but not including b.
	Uniform = random("rand", kernels.Uniform[ops.T, ops.C])
	// Normal is numbers with mean a and standard deviation b.
	Normal = random("randn", kernels.Normal[ops.T, ops.C])
)

func random(name string, kernel any) *Random {
	return &Random{name, ops.NewGeneric(name, kernel)}
}

var unit32, unit64 = jit.Func(kernels.Unit32), jit.Func(kernels.Unit64)

// PerCounter is how many numbers are made of one counter.
const PerCounter = kernels.PerCounter

// Run stores random numbers in out, which is contiguous and of a floating-point type.
func (r *Random) Run(s *runtime.Stream, out ops.View, key, first uint64, a, b dtype.Scalar) error {
	return r.RunFrom(s, out, ops.View{}, key, first, a, b)
}

// RunFrom is [Random.Run] with counters relative to base, two numbers of I64 that are read when the
// kernel runs: the key and a counter. A base without memory is none.
func (r *Random) RunFrom(s *runtime.Stream, out, base ops.View, key, first uint64, a, b dtype.Scalar) error {
	if !out.DType.IsFloat() {
		return ops.Unsupported(r.name, out.DType, ops.Floats.String())
	}
	if !out.Layout.IsContiguous() {
		return fmt.Errorf("%s: the result is not contiguous: %v", r.name, out.Layout)
	}
	n := out.Layout.Count()
	if n == 0 {
		return nil
	}
	c := out.DType.Compute()
	unit := unit32
	if c == dtype.F64 {
		unit = unit64
	}
	h, from := out.Header(), runtime.SliceHeader{}
	if base.Buf != nil {
		from = base.Header()
	}
	words := [2]uint64{a.Convert(c).Bits(), b.Convert(c).Bits()}
	return r.kernel.Launch(s, ops.TypeArgs{T: out.DType}, cover(s.Device(), (n+kernels.PerCounter-1)/kernels.PerCounter), ops.SliceArg(out.DType, &h), ops.SliceArg(dtype.I64, &from), key, first, ops.ScalarArg(c, &words[0]), ops.ScalarArg(c, &words[1]), unit)
}

// cover returns a grid for a kernel whose threads go through n pieces of work from
// block to block.
func cover(dev *runtime.Device, n int) runtime.Grid {
	info := dev.Info()
	threads := min(ops.MaxThreads, info.ThreadsPerUnit, info.MaxThreads)
	return runtime.Blocks(min((n+threads-1)/threads, 4*info.Units*max(1, info.ThreadsPerUnit/threads)), threads)
}

package conformance

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/gokiln/kiln/dsl"
	"github.com/gokiln/kiln/tests/conformance/kernels"
)

// sizes are the lengths that elementwise cases run with; their grid has 192
// threads.
var sizes = []int{0, 1, 31, 193, 1000}

// Cases returns all cases for devices whose warps have that many threads. Inputs are
// the same in every call.
func Cases(warpSize int) []Case {
	b := &builder{rng: rand.New(rand.NewPCG(1, 2)), warp: warpSize}
	b.arithmetic()
	b.conversions()
	b.math()
	b.approximate()
	b.control()
	b.rows()
	b.block()
	b.dynamic()
	b.config()
	b.language()
	b.lambdas()
	b.runs()
	b.tiles()
	b.tileRows()
	b.chains()
	b.crosses()
	b.tileConversions()
	b.tileFills()
	b.attention()
	for i := range b.cases {
		b.cases[i].place = i
	}
	return b.cases
}

type builder struct {
	rng   *rand.Rand
	warp  int // threads of a warp
	cases []Case
}

// add appends a case over one-dimensional blocks.
func (b *builder) add(name string, kernel any, blocks, threads int, args ...any) {
	b.cases = append(b.cases, Case{Name: name, Kernel: kernel, Grid: dsl.D1(blocks), Threads: dsl.D1(threads), Args: args})
}

func (b *builder) add3(name string, kernel any, grid, threads dsl.Dim3, args ...any) {
	b.cases = append(b.cases, Case{Name: name, Kernel: kernel, Grid: grid, Threads: threads, Args: args})
}

// dynamic are lengths of shared memory that launches decide.
func (b *builder) dynamic() {
	for _, n := range []int{0, 5, 777} {
		b.add(fmt.Sprintf("BackwardsOf/%d", n), kernels.BackwardsOf, 3, 64, make([]uint32, 3*n), n, int32(0))
	}
}

func (b *builder) arithmetic() {
	for _, n := range sizes {
		b.add(fmt.Sprintf("Saxpy/float32/%d", n), kernels.Saxpy[float32], 3, 64, floats[float32](b, n), floats[float32](b, n), float32(1.7))
		b.add(fmt.Sprintf("Saxpy/float64/%d", n), kernels.Saxpy[float64], 3, 64, floats[float64](b, n), floats[float64](b, n), -1.1)
		b.add(fmt.Sprintf("SwiGLU/float32/%d", n), kernels.SwiGLU[float32], 3, 64, make([]float32, n), floats[float32](b, n), floats[float32](b, n))
		b.add(fmt.Sprintf("SwiGLU/f16/%d", n), kernels.SwiGLU[dsl.F16], 3, 64, make([]dsl.F16, n), halves[dsl.F16](b, n), halves[dsl.F16](b, n))
		b.add(fmt.Sprintf("SwiGLU/bf16/%d", n), kernels.SwiGLU[dsl.BF16], 3, 64, make([]dsl.BF16, n), halves[dsl.BF16](b, n), halves[dsl.BF16](b, n))
	}
	integers[int8](b, "int8", kernels.Ints[int8], kernels.Shifts[int8])
	integers[uint8](b, "uint8", kernels.Ints[uint8], kernels.Shifts[uint8])
	integers[int16](b, "int16", kernels.Ints[int16], kernels.Shifts[int16])
	integers[uint16](b, "uint16", kernels.Ints[uint16], kernels.Shifts[uint16])
	integers[int32](b, "int32", kernels.Ints[int32], kernels.Shifts[int32])
	integers[uint32](b, "uint32", kernels.Ints[uint32], kernels.Shifts[uint32])
	integers[int64](b, "int64", kernels.Ints[int64], kernels.Shifts[int64])
	integers[uint64](b, "uint64", kernels.Ints[uint64], kernels.Shifts[uint64])
	integers[int](b, "int", kernels.Ints[int], kernels.Shifts[int])
	integers[uint](b, "uint", kernels.Ints[uint], kernels.Shifts[uint])

	const n = 1000
	b.add("Floats/float32", kernels.Floats[float32], 16, 64, make([]float32, 11*n), floats[float32](b, n), floats[float32](b, n))
	b.add("Floats/float64", kernels.Floats[float64], 16, 64, make([]float64, 11*n), floats[float64](b, n), floats[float64](b, n))
	b.add("Compare/int32", kernels.Compare[int32], 16, 64, make([]uint32, n), ints[int32](b, n), ints[int32](b, n))
	b.add("Compare/uint64", kernels.Compare[uint64], 16, 64, make([]uint32, n), ints[uint64](b, n), ints[uint64](b, n))
	b.add("Compare/float32", kernels.Compare[float32], 16, 64, make([]uint32, n), floats[float32](b, n), floats[float32](b, n))
	b.add("Compare/float64", kernels.Compare[float64], 16, 64, make([]uint32, n), floats[float64](b, n), floats[float64](b, n))
	b.add("Words", kernels.Words, 16, 64, make([]uint32, 9*n), ints[uint32](b, n), ints[uint32](b, n), ints[uint32](b, n))
	b.add("FromEnd/float32", kernels.FromEnd[float32], 3, 64, make([]float32, n), floats[float32](b, n))
	b.add("FromEnd/int64", kernels.FromEnd[int64], 3, 64, make([]int64, n), ints[int64](b, n))
	b.add("FromEnd/uint16", kernels.FromEnd[uint16], 3, 64, make([]uint16, n), ints[uint16](b, n))
	b.add("Reversed", kernels.Reversed, 16, 64, make([]uint64, 5*n), ints[uint64](b, n))
	b.add("Carries", kernels.Carries, 8, 64, make([]uint64, 9*n/2), ints[uint64](b, n), ints[uint64](b, n))
	b.add("Trailing", kernels.Trailing, 2, 32, make([]int32, 100), int32(1000), true, int8(-7))
	b.add("Bits", kernels.Bits, 16, 64, make([]uint64, 6*n), ints[uint64](b, n), floats[float32](b, n))
}

// integers adds the integer cases of one type.
func integers[T kernels.Integer](b *builder, name string, arith, shifts any) {
	const n = 1000
	b.add("Ints/"+name, arith, 16, 64, make([]T, 10*n), ints[T](b, n), ints[T](b, n))
	b.add("Shifts/"+name, shifts, 16, 64, make([]T, 3*n), ints[T](b, n), counts(b, n))
}

func (b *builder) conversions() {
	const n = 500
	b.add("Convert/int8/float32", kernels.Convert[int8, float32], 2, 64, make([]int8, n), ranged[float32](b, n, 127))
	b.add("Convert/uint8/float64", kernels.Convert[uint8, float64], 2, 64, make([]uint8, n), positive[float64](b, n, 255))
	b.add("Convert/int32/float32", kernels.Convert[int32, float32], 2, 64, make([]int32, n), ranged[float32](b, n, 2e9))
	b.add("Convert/uint32/float64", kernels.Convert[uint32, float64], 2, 64, make([]uint32, n), positive[float64](b, n, 4e9))
	b.add("Convert/int64/float64", kernels.Convert[int64, float64], 2, 64, make([]int64, n), ranged[float64](b, n, 9e18))
	b.add("Convert/uint64/float32", kernels.Convert[uint64, float32], 2, 64, make([]uint64, n), positive[float32](b, n, 1.8e19))
	b.add("Convert/float32/int64", kernels.Convert[float32, int64], 2, 64, make([]float32, n), ints[int64](b, n))
	b.add("Convert/float32/uint64", kernels.Convert[float32, uint64], 2, 64, make([]float32, n), ints[uint64](b, n))
	b.add("Convert/float64/uint64", kernels.Convert[float64, uint64], 2, 64, make([]float64, n), ints[uint64](b, n))
	b.add("Convert/float64/int32", kernels.Convert[float64, int32], 2, 64, make([]float64, n), ints[int32](b, n))
	b.add("Convert/float32/int16", kernels.Convert[float32, int16], 2, 64, make([]float32, n), ints[int16](b, n))
	b.add("Convert/float32/float64", kernels.Convert[float32, float64], 2, 64, make([]float32, n), floats[float64](b, n))
	b.add("Convert/float64/float32", kernels.Convert[float64, float32], 2, 64, make([]float64, n), floats[float32](b, n))
	b.add("Convert/int8/uint64", kernels.Convert[int8, uint64], 2, 64, make([]int8, n), ints[uint64](b, n))
	b.add("Convert/uint16/int8", kernels.Convert[uint16, int8], 2, 64, make([]uint16, n), ints[int8](b, n))
	b.add("Convert/int64/int8", kernels.Convert[int64, int8], 2, 64, make([]int64, n), ints[int8](b, n))
	b.add("Convert/uint64/int32", kernels.Convert[uint64, int32], 2, 64, make([]uint64, n), ints[int32](b, n))
	b.add("Convert/int32/uint16", kernels.Convert[int32, uint16], 2, 64, make([]int32, n), ints[uint16](b, n))

	// Every value of both 16-bit formats.
	f16s, bf16s := make([]dsl.F16, 1<<16), make([]dsl.BF16, 1<<16)
	for i := range f16s {
		f16s[i], bf16s[i] = dsl.F16(i), dsl.BF16(i)
	}
	b.add("Halves/f16", kernels.Halves[dsl.F16], 16, 256, make([]dsl.F16, 1<<16), make([]float32, 1<<16), f16s)
	b.add("Halves/bf16", kernels.Halves[dsl.BF16], 16, 256, make([]dsl.BF16, 1<<16), make([]float32, 1<<16), bf16s)
	// Every value of both 8-bit formats, and floats of all sizes to them.
	e4m3, e5m2 := make([]dsl.F8E4M3, 256), make([]dsl.F8E5M2, 256)
	for i := range e4m3 {
		e4m3[i], e5m2[i] = dsl.F8E4M3(i), dsl.F8E5M2(i)
	}
	b.add("Halves/e4m3", kernels.Halves[dsl.F8E4M3], 2, 64, make([]dsl.F8E4M3, 256), make([]float32, 256), e4m3)
	b.add("Halves/e5m2", kernels.Halves[dsl.F8E5M2], 2, 64, make([]dsl.F8E5M2, 256), make([]float32, 256), e5m2)
	b.add("Narrow/e4m3", kernels.Narrow[dsl.F8E4M3], 16, 64, make([]dsl.F8E4M3, 4096), make([]float64, 4096), narrow(b, 4096))
	b.add("Narrow/e5m2", kernels.Narrow[dsl.F8E5M2], 16, 64, make([]dsl.F8E5M2, 4096), make([]float64, 4096), narrow(b, 4096))
	b.add("SwiGLU/e4m3", kernels.SwiGLU[dsl.F8E4M3], 1, 64, make([]dsl.F8E4M3, 256), e4m3, e4m3)
	b.add("SwiGLU/e5m2", kernels.SwiGLU[dsl.F8E5M2], 1, 64, make([]dsl.F8E5M2, 256), e5m2, e5m2)
	values(b, "int8", kernels.Values[int8], ints[int8](b, n))
	values(b, "uint8", kernels.Values[uint8], ints[uint8](b, n))
	values(b, "int16", kernels.Values[int16], ints[int16](b, n))
	values(b, "uint16", kernels.Values[uint16], ints[uint16](b, n))
	values(b, "int32", kernels.Values[int32], ints[int32](b, n))
	values(b, "uint32", kernels.Values[uint32], ints[uint32](b, n))
	values(b, "int64", kernels.Values[int64], ints[int64](b, n))
	values(b, "uint64", kernels.Values[uint64], ints[uint64](b, n))
	values(b, "float32", kernels.Values[float32], append(floats[float32](b, n), ranged[float32](b, n, 70000)...))
	values(b, "float64", kernels.Values[float64], append(floats[float64](b, n), ranged[float64](b, n, 70000)...))
	values(b, "f16", kernels.Values[dsl.F16], halves[dsl.F16](b, n))
	values(b, "bf16", kernels.Values[dsl.BF16], halves[dsl.BF16](b, n))
	values(b, "e4m3", kernels.Values[dsl.F8E4M3], e4m3)
	values(b, "e5m2", kernels.Values[dsl.F8E5M2], e5m2)
	b.add("Halves/float64", kernels.Halves[float64], 2, 64, make([]float64, n), make([]float32, n), floats[float64](b, n))
}

// values adds the conversion of numbers of one type to all types.
func values[T any](b *builder, name string, kernel any, in []T) {
	b.add("Values/"+name, kernel, 2, 64, make([]kernels.Numbers, len(in)), in)
}

func (b *builder) math() {
	const n = 2000
	b.add("Exps/float32", kernels.Exps[float32], 4, 128, make([]float32, 4*n), append(floats[float32](b, n/2), ranged[float32](b, n/2, 100)...))
	b.add("Exps/float64", kernels.Exps[float64], 4, 128, make([]float64, 4*n), append(floats[float64](b, n/2), ranged[float64](b, n/2, 750)...))
	b.add("Logs/float32", kernels.Logs[float32], 4, 128, make([]float32, 4*n), append(floats[float32](b, n/2), positive[float32](b, n/2, 10)...))
	b.add("Logs/float64", kernels.Logs[float64], 4, 128, make([]float64, 4*n), append(floats[float64](b, n/2), positive[float64](b, n/2, 10)...))
	mathCases[float32](b, "float32", kernels.Trigs[float32], kernels.Arcs[float32], kernels.Specials[float32], kernels.Pairs[float32])
	mathCases[float64](b, "float64", kernels.Trigs[float64], kernels.Arcs[float64], kernels.Specials[float64], kernels.Pairs[float64])
}

// mathCases adds the other math functions of one type, at arguments of all sizes
// and at ordinary ones.
func mathCases[T float32 | float64](b *builder, name string, trigs, arcs, specials, pairs any) {
	const n = 1000
	of := func(size float64) []T { return append(floats[T](b, n/2), ranged[T](b, n/2, size)...) }
	b.add("Trigs/"+name, trigs, 4, 64, make([]T, 4*n), of(20))
	b.add("Arcs/"+name, arcs, 4, 64, make([]T, 4*n), of(1.1))
	b.add("Specials/"+name, specials, 4, 64, make([]T, 5*n), of(12))
	b.add("Pairs/"+name, pairs, 4, 64, make([]T, 4*n), of(10), of(10))
}

func (b *builder) control() {
	const n = 300
	small := make([]uint32, n)
	for i := range small {
		small[i] = b.rng.Uint32N(10000)
	}
	b.add("Collatz", kernels.Collatz, 5, 64, make([]int32, n), small)
	b.add3("Mandelbrot", kernels.Mandelbrot, dsl.D2(5, 7), dsl.D2(16, 8), make([]int32, 77*50), 77, 50, int32(64))
	b.add("Labels", kernels.Labels, 5, 64, make([]int32, n), tiny(b, n, 12))
	b.add("Structs", kernels.Structs, 5, 64, make([]int32, n), tiny(b, n, 1000))
	b.add("Arrays", kernels.Arrays, 5, 64, make([]float32, n), ranged[float32](b, n, 10))
	b.add("Literals", kernels.Literals, 2, 64, make([]float32, n), ranged[float32](b, n, 10), float32(1.25))
	b.add("Reslice", kernels.Reslice, 5, 64, make([]int64, n), ints[int64](b, n))
}

func (b *builder) block() {
	one, three := b.warp, 3*b.warp // blocks of one warp and of three
	b.add3("Transpose/float32", kernels.Transpose[float32], dsl.D2(4, 3), dsl.D2(16, 16), make([]float32, 37*61), floats[float32](b, 37*61), 37, 61)
	b.add3("Transpose/int64", kernels.Transpose[int64], dsl.D2(2, 2), dsl.D2(16, 16), make([]int64, 17*31), ints[int64](b, 17*31), 17, 31)
	b.add3("Transpose/uint8", kernels.Transpose[uint8], dsl.D2(2, 2), dsl.D2(16, 16), make([]uint8, 17*31), ints[uint8](b, 17*31), 17, 31)
	b.add("BlockSums/float32", kernels.BlockSums[float32], 3, 256, make([]float32, 3), ranged[float32](b, 3001, 1))
	b.add("BlockSums/float64", kernels.BlockSums[float64], 3, 128, make([]float64, 3), ranged[float64](b, 3001, 1))
	b.add("BlockSums/int32", kernels.BlockSums[int32], 2, one, make([]int32, 2), ints[int32](b, 777))
	b.add("Reductions/float32", kernels.Reductions[float32], 2, three, make([]float32, 2*three*6), ranged[float32](b, 150, 10))
	b.add("Reductions/int32", kernels.Reductions[int32], 2, 1024, make([]int32, 2*1024*6), ints[int32](b, 2000))
	b.add("Reductions/uint64", kernels.Reductions[uint64], 1, one, make([]uint64, one*6), ints[uint64](b, one))
	b.add("Shuffles/int32", kernels.Shuffles[int32], 2, 64, make([]int32, 5*128), ints[int32](b, 128))
	b.add("Shuffles/float32", kernels.Shuffles[float32], 2, 64, make([]float32, 5*128), floats[float32](b, 128))
	b.add("Shuffles/int64", kernels.Shuffles[int64], 2, 64, make([]int64, 5*128), ints[int64](b, 128))
	b.add("Shuffles/float64", kernels.Shuffles[float64], 2, 64, make([]float64, 5*128), floats[float64](b, 128))
	b.add("Shuffles/int8", kernels.Shuffles[int8], 2, 64, make([]int8, 5*128), ints[int8](b, 128))
	b.add("Shuffles/uint16", kernels.Shuffles[uint16], 2, 64, make([]uint16, 5*128), ints[uint16](b, 128))
	b.add("Shuffles/f16", kernels.Shuffles[dsl.F16], 2, 64, make([]dsl.F16, 5*128), halves[dsl.F16](b, 128))
	b.add("Shuffles/bf16", kernels.Shuffles[dsl.BF16], 2, 64, make([]dsl.BF16, 5*128), halves[dsl.BF16](b, 128))
	b.add("Scans/int32", kernels.Scans[int32], 3, three, make([]int32, 3*three*4), ints[int32](b, 250))
	b.add("Scans/uint32", kernels.Scans[uint32], 1, 1024, make([]uint32, 1024*4), ints[uint32](b, 1024))
	b.add("Scans/int64", kernels.Scans[int64], 2, one, make([]int64, 2*one*4), ints[int64](b, 2*one))
	b.add("Scans/uint64", kernels.Scans[uint64], 2, 64, make([]uint64, 2*64*4), ints[uint64](b, 99))
	b.add("Scans/float32", kernels.Scans[float32], 2, 128, make([]float32, 2*128*4), ranged[float32](b, 256, 10))
	b.add3("Scans/float64", kernels.Scans[float64], dsl.D1(2), dsl.D2(16, 8), make([]float64, 2*128*4), ranged[float64](b, 256, 10))
	b.add("SumDecides", kernels.SumDecides, 2, three, make([]float32, 2*three), positive[float32](b, 2*three, 5))
	b.add("BitReductions/int32", kernels.BitReductions[int32], 2, 64, make([]int32, 4*128), ints[int32](b, 128))
	b.add("BitReductions/uint64", kernels.BitReductions[uint64], 2, 64, make([]uint64, 4*128), ints[uint64](b, 128))
	for width := dsl.ConstInt(1); int(width) <= b.warp; width *= 2 {
		b.add(fmt.Sprintf("Groups/int32/%d", width), kernels.Groups[int32], 2, 64, make([]int32, 11*128), ints[int32](b, 128), width)
		b.add(fmt.Sprintf("Groups/float32/%d", width), kernels.Groups[float32], 2, 64, make([]float32, 11*128), floats[float32](b, 128), width)
		b.add(fmt.Sprintf("Groups/uint64/%d", width), kernels.Groups[uint64], 2, 64, make([]uint64, 11*128), ints[uint64](b, 128), width)
		b.add(fmt.Sprintf("Masks/%d", width), kernels.Masks[uint32], 2, 64, make([]uint64, 6*128), make([]uint32, 128), width)
	}
	b.add("Masks/int8", kernels.Masks[int8], 2, 64, make([]uint64, 6*128), alike[int8](b, 128), dsl.ConstInt(4))
	b.add("Masks/uint32", kernels.Masks[uint32], 2, 64, make([]uint64, 6*128), alike[uint32](b, 128), dsl.ConstInt(8))
	b.add("Masks/int64", kernels.Masks[int64], 2, 64, make([]uint64, 6*128), alike[int64](b, 128), dsl.ConstInt(2))
	b.add("Votes", kernels.Votes, 4, 64, make([]uint64, 256), tiny(b, 256, 100))
	b.add("Histogram", kernels.Histogram, 3, 96, make([]uint32, 256), ints[uint8](b, 5000))
	b.add("Atomics/int32", kernels.Atomics[int32], 3, 64, ints[int32](b, 7), ints[int32](b, 500))
	b.add("Atomics/uint32", kernels.Atomics[uint32], 3, 64, ints[uint32](b, 7), ints[uint32](b, 500))
	b.add("Atomics/int64", kernels.Atomics[int64], 3, 64, ints[int64](b, 7), ints[int64](b, 500))
	b.add("Atomics/uint64", kernels.Atomics[uint64], 3, 64, ints[uint64](b, 7), ints[uint64](b, 500))
	b.add("AtomicFloats/float32", kernels.AtomicFloats[float32], 3, 64, make([]float32, 3), whole[float32](b, 500))
	b.add("AtomicFloats/float64", kernels.AtomicFloats[float64], 3, 64, make([]float64, 3), whole[float64](b, 500))
	b.add("NarrowAtomics/int8", kernels.NarrowAtomics[int8], 3, 64, make([]int8, 13), ints[int8](b, 500))
	b.add("NarrowAtomics/uint8", kernels.NarrowAtomics[uint8], 3, 64, make([]uint8, 13), ints[uint8](b, 500))
	b.add("NarrowAtomics/int16", kernels.NarrowAtomics[int16], 3, 64, make([]int16, 13), ints[int16](b, 500))
	b.add("NarrowAtomics/uint16", kernels.NarrowAtomics[uint16], 3, 64, make([]uint16, 13), ints[uint16](b, 500))
	b.add("LastSum/int32", kernels.LastSum[int32], 5, 64, make([]int32, 3), make([]int32, 5), ints[int32](b, 320), make([]uint32, 1))
	b.add("LastSum/uint64", kernels.LastSum[uint64], 5, 64, make([]uint64, 3), make([]uint64, 5), ints[uint64](b, 320), make([]uint32, 1))
	b.add("LastSum/float32", kernels.LastSum[float32], 5, 64, make([]float32, 3), make([]float32, 5), whole[float32](b, 320), make([]uint32, 1))
	b.add("OrderedKinds/int32", kernels.OrderedKinds[int32], 3, 64, make([]int32, 9), ints[int32](b, 500))
	b.add("OrderedKinds/uint64", kernels.OrderedKinds[uint64], 3, 64, make([]uint64, 9), ints[uint64](b, 500))
	b.add("OrderedFloats/float32", kernels.OrderedFloats[float32], 3, 64, make([]float32, 3), whole[float32](b, 500))
	b.add("OrderedFloats/float64", kernels.OrderedFloats[float64], 3, 64, make([]float64, 3), whole[float64](b, 500))
	b.add("AtomicHalves/f16", kernels.AtomicHalves[dsl.F16], 3, 64, make([]dsl.F16, 5), signs[dsl.F16](b, 501))
	b.add("AtomicHalves/bf16", kernels.AtomicHalves[dsl.BF16], 3, 64, make([]dsl.BF16, 5), signs[dsl.BF16](b, 501))
	strips[uint8](b, "uint8", kernels.Strips[uint8], ints[uint8])
	strips[dsl.BF16](b, "bf16", kernels.Strips[dsl.BF16], halves[dsl.BF16])
	strips[float32](b, "float32", kernels.Strips[float32], floats[float32])
	strips[float64](b, "float64", kernels.Strips[float64], floats[float64])
	pipelines[uint8](b, "uint8", kernels.Stages[uint8], ints[uint8])
	pipelines[dsl.BF16](b, "bf16", kernels.Stages[dsl.BF16], halves[dsl.BF16])
	pipelines[float32](b, "float32", kernels.Stages[float32], floats[float32])
	pipelines[float64](b, "float64", kernels.Stages[float64], floats[float64])
	b.add("Vectors/int8", kernels.Vectors[int8], 3, 32, make([]int8, 192), ints[int8](b, 512))
	b.add("Vectors/float32", kernels.Vectors[float32], 3, 32, make([]float32, 192), ranged[float32](b, 512, 9))
	b.add("LastBlock", kernels.LastBlock, 7, three, make([]float32, 1), make([]float32, 7), make([]int32, 1), ranged[float32](b, 5000, 10))
	b.add3("MatMul", kernels.MatMul, dsl.D2(2, 3), dsl.D2(8, 8), make([]float32, 35*29), ranged[float32](b, 35*19, 1), ranged[float32](b, 19*29, 1), 35, 29, 19)
	b.add3("Geometry", kernels.Geometry, dsl.D3(3, 2, 2), dsl.D3(8, 4, 2), make([]int, 3*2*2*64))
}

// strips adds cases of slices that begin where a vector does, and others.
func strips[T dsl.Number](b *builder, name string, kernel any, draw func(b *builder, n int) []T) {
	for _, first := range []dsl.ConstInt{0, 1, 6} {
		b.add(fmt.Sprintf("Strips/%s/%d", name, first), kernel, 3, 64, make([]T, 2005), draw(b, 2005+int(first)), first)
	}
}

// pipelines adds cases of two and more stages, with fewer and more strips, and without any.
func pipelines[T dsl.Number](b *builder, name string, kernel any, draw func(b *builder, n int) []T) {
	for _, c := range []struct{ stages, first, strips int }{{2, 0, 8}, {3, 0, 7}, {4, 1, 6}, {4, 4, 3}, {3, 8, 0}} {
		x := draw(b, max(c.strips*256-43, 0)+c.first)
		b.add(fmt.Sprintf("Stages/%s/%d-%d", name, c.stages, c.first), kernel, 3, 64, make([]T, c.strips*256-c.strips), x, dsl.ConstInt(c.stages), dsl.ConstInt(c.first))
	}
}

// floats draws floats of every magnitude, a quarter of them special.
func floats[T float32 | float64](b *builder, n int) []T {
	special := []float64{0, math.Copysign(0, -1), 1, -1, 0.5, 2.5, -3.5, math.Inf(1), math.Inf(-1), math.NaN(),
		math.SmallestNonzeroFloat32, -1e-310, math.MaxFloat32, -math.MaxFloat64, 8388607.5, 4503599627370495.5, 88.7, -103.9}
	out := make([]T, n)
	for i := range out {
		if b.rng.IntN(4) == 0 {
			out[i] = T(special[b.rng.IntN(len(special))])
			continue
		}
		out[i] = T((b.rng.Float64()*2 - 1) * math.Pow(10, b.rng.Float64()*12-6))
	}
	return out
}

// ranged draws uniformly from [-limit, limit].
func ranged[T float32 | float64](b *builder, n int, limit float64) []T {
	out := make([]T, n)
	for i := range out {
		out[i] = T((b.rng.Float64()*2 - 1) * limit)
	}
	return out
}

func positive[T float32 | float64](b *builder, n int, limit float64) []T {
	out := ranged[T](b, n, limit)
	for i := range out {
		out[i] = max(out[i], -out[i])
	}
	return out
}

// whole draws small whole numbers, whose sums are exact.
func whole[T float32 | float64](b *builder, n int) []T {
	out := make([]T, n)
	for i := range out {
		out[i] = T(b.rng.IntN(201) - 100)
	}
	return out
}

// narrow draws floats from below the least to above the largest number of 8 bits,
// a third of them between two neighbours of some format.
func narrow(b *builder, n int) []float32 {
	out := floats[float32](b, n)
	for i := range out {
		switch i % 3 {
		case 0:
			out[i] = math.Float32frombits(uint32(100+b.rng.IntN(48))<<23 | b.rng.Uint32()&^(1<<18-1)&(1<<23-1) | b.rng.Uint32()<<31)
		case 1:
			out[i] = math.Float32frombits(uint32(100+b.rng.IntN(48))<<23 | b.rng.Uint32()&(1<<23-1) | b.rng.Uint32()<<31)
		}
	}
	return out
}

// signs draws -1, 0 and 1, sums of some hundred of which are exact.
func signs[T dsl.F16 | dsl.BF16](b *builder, n int) []T {
	out := make([]T, n)
	for i := range out {
		out[i] = dsl.To[T](float32(b.rng.IntN(3) - 1))
	}
	return out
}

// halves draws bit patterns of a 16-bit format.
func halves[T dsl.F16 | dsl.BF16](b *builder, n int) []T {
	out := make([]T, n)
	for i := range out {
		out[i] = T(b.rng.Uint32())
	}
	return out
}

// ints draws integers of every magnitude, a quarter of them at the edges.
func ints[T kernels.Integer](b *builder, n int) []T {
	edges := []uint64{0, 1, ^uint64(0), 1 << 7, 1<<7 - 1, 1 << 15, 1<<15 - 1, 1 << 31, 1<<31 - 1, 1 << 32, 1<<32 - 1, 1 << 63, 1<<63 - 1, 2, 3}
	out := make([]T, n)
	for i := range out {
		if b.rng.IntN(4) == 0 {
			out[i] = T(edges[b.rng.IntN(len(edges))])
			continue
		}
		out[i] = T(int64(b.rng.Uint64()) >> b.rng.IntN(64))
	}
	return out
}

func tiny(b *builder, n int, limit int32) []int32 {
	out := make([]int32, n)
	for i := range out {
		out[i] = b.rng.Int32N(2*limit) - limit
	}
	return out
}

func counts(b *builder, n int) []uint8 {
	out := make([]uint8, n)
	for i := range out {
		out[i] = uint8(b.rng.IntN(130))
	}
	return out
}

// alike are numbers of which there are only some, so that lanes have the same.
func alike[T kernels.Integer](b *builder, n int) []T {
	out := make([]T, n)
	for i := range out {
		out[i] = T(b.rng.IntN(5))
	}
	return out
}

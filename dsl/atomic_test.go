package dsl_test

import (
	"fmt"
	"math"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/gokiln/kiln/dsl"
)

func testInts[T dsl.WordInt](t *testing.T) {
	p := new(T)
	*p = 12
	assert.EqualValues(t, 12, dsl.AtomicAdd(p, 3))
	assert.EqualValues(t, 15, dsl.AtomicAnd(p, 9))
	assert.EqualValues(t, 9, dsl.AtomicOr(p, 4))
	assert.EqualValues(t, 13, dsl.AtomicXor(p, 1))
	assert.EqualValues(t, 12, dsl.AtomicMax(p, 20))
	assert.EqualValues(t, 20, dsl.AtomicMax(p, 4))
	assert.EqualValues(t, 20, dsl.AtomicMin(p, 7))
	assert.EqualValues(t, 7, dsl.AtomicExch(p, 1))
	assert.EqualValues(t, 1, dsl.AtomicCAS(p, 2, 5))
	assert.EqualValues(t, 1, dsl.AtomicCAS(p, 1, 5))
	assert.EqualValues(t, 5, *p)
	assert.EqualValues(t, 5, dsl.AtomicLoad(p))
	dsl.AtomicStore(p, 5)
	minus := T(0)
	minus--
	dsl.AtomicAdd(p, minus)
	assert.EqualValues(t, 4, *p)
}

func testFloats[T dsl.Real](t *testing.T) {
	p := new(T)
	*p = 1.5
	nan, minusZero := T(math.NaN()), T(math.Copysign(0, -1))
	assert.EqualValues(t, 1.5, dsl.AtomicAdd(p, 1))
	assert.EqualValues(t, 2.5, dsl.AtomicMax(p, 4))
	assert.EqualValues(t, 4, dsl.AtomicMin(p, -1))
	assert.EqualValues(t, -1, dsl.AtomicExch(p, minusZero))
	dsl.AtomicCAS(p, 0, 3) // compares bits
	assert.True(t, math.Signbit(float64(*p)))
	dsl.AtomicMax(p, 0)
	assert.False(t, math.Signbit(float64(*p)), "-0 < +0")
	dsl.AtomicMin(p, nan)
	assert.True(t, dsl.IsNaN(*p))
	assert.True(t, dsl.IsNaN(dsl.AtomicMax(p, 1)), "NaN stays")
	dsl.AtomicCAS(p, *p, 3)
	assert.EqualValues(t, 3, *p)
}

// Each half of a word is added to alone, and rounded once.
func testHalves[T dsl.F16 | dsl.BF16](t *testing.T, big, one float32) {
	p := new([4]T)
	for i := range p {
		p[i] = dsl.To[T](float32(i))
	}
	assert.EqualValues(t, 1, dsl.F32(dsl.AtomicAdd(&p[1], dsl.To[T](0.5))))
	assert.EqualValues(t, 2, dsl.F32(dsl.AtomicAdd(&p[2], dsl.To[T](big))))
	dsl.AtomicAdd(&p[3], dsl.To[T](float32(math.NaN())))
	assert.EqualValues(t, 0, dsl.F32(p[0]))
	assert.EqualValues(t, 1.5, dsl.F32(p[1]))
	assert.EqualValues(t, big+2, dsl.F32(p[2]))
	assert.True(t, dsl.IsNaN(dsl.F32(p[3])))
	dsl.AtomicAdd(&p[2], dsl.To[T](one))
	assert.EqualValues(t, big+4, dsl.F32(p[2]), "a tie goes to the even neighbour")
}

func TestAtomics(t *testing.T) {
	t.Run("f16", func(t *testing.T) { testHalves[dsl.F16](t, 2048, 1) })
	t.Run("bf16", func(t *testing.T) { testHalves[dsl.BF16](t, 256, 1) })
	t.Run("int", testInts[int])
	t.Run("uint", testInts[uint])
	t.Run("int32", testInts[int32])
	t.Run("uint32", testInts[uint32])
	t.Run("int64", testInts[int64])
	t.Run("uint64", testInts[uint64])
	t.Run("float32", testFloats[float32])
	t.Run("float64", testFloats[float64])
}

// Atomics hold between goroutines: the race detector watches this test.
func TestAtomicsConcurrently(t *testing.T) {
	var sum float32
	var bits, count uint32
	var top float64
	var pair [2]dsl.F16
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for j := range 1000 {
				dsl.AtomicAdd(&sum, 1)
				dsl.AtomicOr(&bits, 1<<i)
				dsl.AtomicMax(&top, float64(i*1000+j))
				if j < 100 {
					dsl.AtomicAdd(&pair[i%2], dsl.To[dsl.F16](1))
				}
				for old := dsl.AtomicOr(&count, 0); ; {
					now := dsl.AtomicCAS(&count, old, old+1)
					if now == old {
						break
					}
					old = now
				}
			}
		})
	}
	wg.Wait()
	assert.EqualValues(t, 8000, sum)
	assert.EqualValues(t, 400, dsl.F32(pair[0]))
	assert.EqualValues(t, 400, dsl.F32(pair[1]))
	assert.EqualValues(t, 0xFF, bits)
	assert.EqualValues(t, 8000, count)
	assert.EqualValues(t, 7999, top)
}

func ExampleAtomicAdd() {
	var n int32
	old := dsl.AtomicAdd(&n, 5)
	fmt.Println(old, n)
	// Output: 0 5
}

package dsltest_test

import (
	"fmt"
	"testing"

	"github.com/gokiln/kiln/dsl"
	"github.com/gokiln/kiln/dsl/dsltest"
)

// Axpy adds a·x to y.
func Axpy(t dsl.Thread, y, x []float32, a float32) {
	for i := t.Global(); i < len(y); i += t.GlobalSize() {
		y[i] = dsl.FMA(a, x[i], y[i])
	}
}

func ExampleRun() {
	x, y := []float32{1, 2, 3, 4, 5}, make([]float32, 5)
	err := dsltest.Run(dsl.D1(2), dsl.D1(2), func(t dsl.Thread) { Axpy(t, y, x, 10) })
	fmt.Println(y, err)
	// Output: [10 20 30 40 50] <nil>
}

func ExampleRun_divergence() {
	err := dsltest.Run(dsl.D1(1), dsl.D1(64), func(t dsl.Thread) {
		if t.ThreadX() < 32 {
			t.Sync() // the other half of the block never comes
		}
	}, dsltest.WarpSize(16))
	fmt.Println(err != nil)
	// Output: true
}

func BenchmarkRun(b *testing.B) {
	x, y := make([]float32, 1<<16), make([]float32, 1<<16)
	for b.Loop() {
		if err := dsltest.Run(dsl.D1(256), dsl.D1(256), func(t dsl.Thread) { Axpy(t, y, x, 2) }); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkBarrier(b *testing.B) {
	for b.Loop() {
		if err := dsltest.Run(dsl.D1(64), dsl.D1(256), func(t dsl.Thread) { dsl.BlockSum(t, t.ThreadX()) }); err != nil {
			b.Fatal(err)
		}
	}
}

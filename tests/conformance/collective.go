package conformance

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/gokiln/kiln/dsl"
	"github.com/gokiln/kiln/runtime"
	"github.com/gokiln/kiln/tests/conformance/kernels"
)

// RunCollectives compares operations of package dsl/block with the order that it documents. A block does
// more than one row, so that the barrier between two uses of shared memory is needed.
func RunCollectives(t *testing.T, dev *runtime.Device) {
	b := &builder{rng: rand.New(rand.NewPCG(5, 6)), warp: dev.WarpSize()}
	for _, threads := range []int{b.warp, 256} {
		n := 5 * threads
		runCollectives(t, dev, "float32", threads, kernels.Collectives[float32], sparse(ranged[float32](b, n, 1)))
		runCollectives(t, dev, "int32", threads, kernels.Collectives[int32], sparse(ints[int32](b, n)))
		runCollectives(t, dev, "uint64", threads, kernels.Collectives[uint64], sparse(ints[uint64](b, n)))
	}
}

func runCollectives[T int32 | uint64 | float32](t *testing.T, dev *runtime.Device, name string, threads int, kernel any, x []T) {
	want := make([]T, len(x)*kernels.CollectiveParts)
	for row := 0; row < len(x); row += threads {
		wantCollectives(want[row*kernels.CollectiveParts:], x[row:row+threads])
	}
	c := Case{Kernel: kernel, Grid: dsl.D1(2), Threads: dsl.D1(threads), Args: []any{make([]T, len(want)), x, dsl.ConstInt(threads)}}
	for _, checked := range []bool{false, true} {
		t.Run(fmt.Sprintf("Collectives/%s/%d/checked=%t", name, threads, checked), func(t *testing.T) {
			got, err := onDevice(dev, c, checked)
			if err == nil {
				err = c.Judge([]any{want, x}, got[:2])
			}
			judge(t, dev, err)
		})
	}
}

// wantCollectives writes what the kernel Collectives does for one row.
func wantCollectives[T int32 | uint64 | float32](out, x []T) {
	n := len(x)
	sum := tree(x, func(a, b T) T { return a + b })
	var last, all T
	for _, v := range x {
		if v != 0 {
			all = v
		}
	}
	for i, v := range x {
		out[i], out[n+i], out[2*n+i], out[3*n+i] = sum, slices.Max(x), last, all
		if v != 0 {
			last = v
		}
	}
}

// sparse makes most elements zero.
func sparse[T dsl.Number](x []T) []T {
	for i := range x {
		if i%7 != 3 {
			x[i] = 0
		}
	}
	return x
}

// RunHandover runs a kernel whose blocks wait for earlier ones, where blocks that have begun go on.
func RunHandover(t *testing.T, dev *runtime.Device) {
	if info := dev.Info(); info.Kind != "cpu" && !info.Cooperative {
		t.Logf("%s does not promise that blocks go on which have begun: no block waits for another", dev.Name())
		return
	}
	const threads, tiles = 64, 150
	for _, each := range []int{1, 2, 4} {
		x := make([]uint64, threads*tiles)
		for i := range x {
			x[i] = uint64(i*i) % 1000
			if each == 4 {
				x[i] <<= 33
			}
		}
		c := Case{Name: fmt.Sprintf("Handover/%d", each), Kernel: kernels.Handover, Grid: dsl.D1(7), Threads: dsl.D1(threads),
			Args: []any{make([]uint64, len(x)), x, make([]uint32, 2+each*tiles), dsl.ConstInt(threads), dsl.ConstInt(each)}}
		want, sum := make([]uint64, len(x)), uint64(0)
		for i := range x {
			sum += x[i]
			want[i] = sum
		}
		for _, checked := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/checked=%t", c.Name, checked), func(t *testing.T) {
				got, err := onDevice(dev, c, checked)
				if err == nil {
					err = c.Judge([]any{want, x}, got[:2])
				}
				judge(t, dev, err)
			})
		}
	}
}

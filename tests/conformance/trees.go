package conformance

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/gokiln/kiln/dsl"
	"github.com/gokiln/kiln/runtime"
	"github.com/gokiln/kiln/tests/conformance/kernels"
)

// RunTrees compares reductions and scans with the tree that docs/semantics.md defines,
// bit by bit: over blocks it does not depend on the width of the device's warps.
func RunTrees(t *testing.T, dev *runtime.Device) {
	eachTree(dev.WarpSize(), func(c Case, want []any) {
		t.Run(c.Name, func(t *testing.T) {
			got, err := onDevice(dev, c, false)
			if err == nil {
				err = c.Judge(want, got)
			}
			judge(t, dev, err)
		})
	})
}

// RunTreesAsGo does it with the kernels as plain Go, which takes a second for a thousand
// threads: with floats, and blocks of fewer sizes.
func RunTreesAsGo(t *testing.T, warp int) {
	eachTree(warp, func(c Case, want []any) {
		if !strings.Contains(c.Name, "float32") || !fewer(c.Threads.X/warp) {
			return
		}
		t.Run(c.Name, func(t *testing.T) {
			got, err := onHost(c, warp)
			if err == nil {
				err = c.Judge(want, got)
			}
			if err != nil {
				t.Error(err)
			}
		})
	})
}

// eachTree calls f with each case and what its arguments hold afterwards.
func eachTree(warp int, f func(c Case, want []any)) {
	b := &builder{rng: rand.New(rand.NewPCG(3, 4)), warp: warp}
	for _, block := range treeBlocks(warp) {
		n := 2 * block
		addTree(b, f, "float32", block, kernels.Trees[float32], adversarial[float32](b, n), identity)
		if !fewer(block / warp) {
			continue // the shape of the tree is not the type's
		}
		addTree(b, f, "float64", block, kernels.Trees[float64], adversarial[float64](b, n), identity)
		addTree(b, f, "zeros", block, kernels.Trees[float32], repeated(float32(math.Copysign(0, -1)), n), identity)
		addTree(b, f, "int32", block, kernels.Trees[int32], ints[int32](b, n), identity)
		addTree(b, f, "uint64", block, kernels.Trees[uint64], ints[uint64](b, n), identity)
		addTree(b, f, "f16", block, kernels.HalfTrees[dsl.F16], numbers(halves[dsl.F16](b, n)), dsl.F32[dsl.F16])
	}
}

// treeBlocks returns sizes of blocks: all that a tree over warps may be made of.
func treeBlocks(warp int) (sizes []int) {
	for _, n := range []int{1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 27, 31, 32, 33, 63, 64, 65, 100, 127, 128} {
		if n*warp <= 1024 {
			sizes = append(sizes, n*warp)
		}
	}
	return sizes
}

// fewer chooses from the numbers of warps that treeBlocks has.
func fewer(warps int) bool { return slices.Contains([]int{1, 3, 8, 9, 16, 17, 65}, warps) }

func addTree[T dsl.Word, E any](b *builder, f func(Case, []any), name string, block int, kernel any, x []E, value func(E) T) {
	v, out := make([]T, len(x)), make([]T, len(x)*kernels.TreeParts)
	for i := range x {
		v[i] = value(x[i])
	}
	for first := 0; first < len(x); first += block {
		wantTrees(out[first*kernels.TreeParts:][:block*kernels.TreeParts], v[first:][:block], b.warp)
	}
	c := Case{Name: fmt.Sprintf("Trees/%s/%d", name, block), Kernel: kernel, Grid: dsl.D1(len(x) / block), Threads: dsl.D1(block),
		Args: []any{make([]T, len(out)), x}}
	f(c, []any{out, x})
}

// wantTrees writes what the kernel Trees does for one block.
func wantTrees[T dsl.Word](out, x []T, warp int) {
	n := len(x)
	add := func(a, b T) T { return a + b }
	sum := tree(x, add)
	most := tree(x, func(a, b T) T { return max(a, b) })
	least := tree(x, func(a, b T) T { return min(a, b) })
	for i := range x {
		lane := i % warp
		of := x[i-lane : min(i-lane+warp, n)]
		for part, v := range [kernels.TreeParts]T{sum, most, least, prefix(x, i+1), prefix(x, i),
			tree(of, add), prefix(of, lane+1), prefix(of, lane), tree(of, func(a, b T) T { return a/2 + b/2 })} {
			out[part*n+i] = v
		}
	}
}

// tree combines x by the tree over its indices: the first half of the next power of two
// with the rest.
func tree[T any](x []T, op func(a, b T) T) T {
	half := 1
	for 2*half < len(x) {
		half *= 2
	}
	if len(x) == 1 {
		return x[0]
	}
	return op(tree(x[:half], op), tree(x[half:], op))
}

// prefix returns the sum of the first n of x: the last one, and below it aligned groups
// of one, two, four and so on.
func prefix[T dsl.Word](x []T, n int) T {
	if n == 0 {
		return 0
	}
	i := n - 1
	sum := x[i]
	for d := 1; d <= i; d *= 2 {
		if i&d != 0 {
			first := i &^ (2*d - 1)
			sum = tree(x[first:first+d], func(a, b T) T { return a + b }) + sum
		}
	}
	return sum
}

func identity[T any](v T) T { return v }

// adversarial draws numbers whose sum depends on the order: large ones that cancel,
// denormal ones and negative zeros among small ones.
func adversarial[T float32 | float64](b *builder, n int) []T {
	edges := []T{1e30, -1e30, 1, 1, -1, 1e-40, -3e-42, 0, T(math.Copysign(0, -1)), 16777216, 1e-8}
	x := ranged[T](b, n, 1)
	for i := range x {
		if b.rng.IntN(3) == 0 {
			x[i] = edges[b.rng.IntN(len(edges))]
		}
	}
	if n > 100 {
		x[n-1] = T(math.NaN()) // in the last block alone
	}
	return x
}

// numbers replaces halves that are infinite or no number, which would be all that is
// left of most sums.
func numbers(x []dsl.F16) []dsl.F16 {
	for i, v := range x {
		if v>>10&31 == 31 {
			x[i] = v &^ (1 << 14)
		}
	}
	return x
}

func repeated[T any](v T, n int) []T {
	x := make([]T, n)
	for i := range x {
		x[i] = v
	}
	return x
}

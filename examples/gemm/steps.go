package main

import (
	"errors"
	"math/rand/v2"
	"reflect"

	"github.com/gokiln/kiln/dsl"
	"github.com/gokiln/kiln/dsl/tile"
	"github.com/gokiln/kiln/examples/gemm/kernels"
	"github.com/gokiln/kiln/jit"
	"github.com/gokiln/kiln/ops"
	"github.com/gokiln/kiln/ops/dtype"
	"github.com/gokiln/kiln/ops/layout"
	"github.com/gokiln/kiln/ops/matmul"
	"github.com/gokiln/kiln/runtime"
)

// step is one of the kernels, or another way to the same result.
type step struct {
	name, note string
	missing    string // what the device does not have for it
	layer      bool   // it has bias and activation
	launch     func() error
}

// matrices are what is multiplied.
type matrices struct {
	dev     *runtime.Device
	stream  *runtime.Stream
	n       int
	a, b, c runtime.Slice[dsl.BF16]
	bias    runtime.Slice[float32]
	numbers []float32 // of the bias
}

func newMatrices(dev *runtime.Device, n int) (*matrices, error) {
	rng := rand.New(rand.NewPCG(1, 2))
	x, y, bias := make([]dsl.BF16, n*n), make([]dsl.BF16, n*n), make([]float32, n)
	for i := range x {
		x[i], y[i] = dsl.To[dsl.BF16](float32(rng.NormFloat64())), dsl.To[dsl.BF16](float32(rng.NormFloat64()))
	}
	for i := range bias {
		bias[i] = float32(rng.NormFloat64())
	}
	m := &matrices{dev: dev, stream: dev.DefaultStream(), n: n, numbers: bias}
	var err [4]error
	m.a, err[0] = runtime.From(dev, x)
	m.b, err[1] = runtime.From(dev, y)
	m.c, err[2] = runtime.Alloc[dsl.BF16](dev, n*n)
	m.bias, err[3] = runtime.From(dev, bias)
	return m, errors.Join(err[:]...)
}

// grid has a block of some threads for each part of the result.
func (m *matrices) grid(wide, high int, threads runtime.Dim3) runtime.Grid {
	return runtime.Grid{Blocks: runtime.Dim3{X: (m.n + wide - 1) / wide, Y: (m.n + high - 1) / high}, Threads: threads}
}

// steps are the rows of the table.
func (m *matrices) steps() []step {
	simple := func(k *jit.Kernel) func() error {
		return func() error {
			return k.Launch(m.stream, m.grid(16, 16, runtime.Dim3{X: 16, Y: 16}), m.c, m.a, m.b, m.n, m.n, m.n)
		}
	}
	has := func(f dsl.MatrixFact) bool { return jit.MatrixShape(m.dev, reflect.TypeFor[dsl.BF16](), f) > 0 }
	small := tile.Config{M: 32, N: 64, Down: 2, Across: 1, Stages: 2}
	if has(dsl.MatrixM) {
		small = tile.Config{M: 128, N: 128, Down: 2, Across: 2, Stages: 2}
	}
	deep, large := small, small
	deep.Stages = 3
	lacks := ""
	if has(dsl.MatrixWarpgroup) {
		large = tile.Config{M: 128, N: 256, Down: 8, Across: 1, Stages: 4}
	} else {
		lacks = "no warpgroup instructions"
	}
	noBulk := ""
	if !m.bulk(&tile.Config{M: 128, N: 256, K: 64, Cluster: 2}).possible {
		noBulk = "no bulk copies"
	}
	pair := large
	pair.Cluster = 2
	return []step{
		{name: "Naive", note: "a thread for each result", launch: simple(jit.Of(kernels.Naive))},
		{name: "Shared", note: "tiles of 16×16 in shared memory", launch: simple(jit.Of(kernels.Shared))},
		{name: "Tiles", note: "matrix instructions, two stages", launch: m.tiles(small)},
		{name: "Tiles, pipeline", note: "three stages", launch: m.tiles(deep)},
		{name: "Tiles, warpgroups", note: "factors of instructions in shared memory", missing: lacks, launch: m.tiles(large)},
		{name: "Bulk", note: "a warp copies for the others", missing: noBulk, launch: m.persistent(large, false)},
		{name: "Bulk, clusters", note: "two blocks copy for each other", missing: noBulk, launch: m.persistent(pair, false)},
		{name: "Layer", note: "with bias and activation", layer: true, launch: m.persistent(pair, true)},
		{name: "Bulk, then Finish", note: "the same in two kernels", layer: true, launch: m.apart(pair)},
		{name: "ops/matmul", note: "what tensor.MatMul launches", launch: m.library},
	}
}

// fit fills in what all configurations have.
func (m *matrices) fit(c *tile.Config) {
	c.K, c.Chunk, c.A, c.B = 64, 8, tile.AlongK, tile.AcrossK
	c.AVec, c.BVec = dsl.ConstBool(m.n%8 == 0), dsl.ConstBool(m.n%8 == 0)
}

// tiles launches a block for each tile.
func (m *matrices) tiles(c tile.Config) func() error {
	m.fit(&c)
	g := m.grid(int(c.N), int(c.M), runtime.Dim3{X: int(c.Warps()) * m.dev.WarpSize()})
	k := jit.Of(kernels.Tiles)
	return func() error { return k.Launch(m.stream, g, m.c, m.a, m.b, m.n, m.n, m.n, c) }
}

// tensorMaps say where the matrices are for bulk copies, if the device has these.
type tensorMaps struct {
	a, b, c  dsl.TensorMap
	possible bool
}

// bulk makes the maps of a configuration. Boxes have rows of 128 bytes, 64 elements: of a as many as a
// tile has, of b those of a stage, and of c as many as a warp multiplies.
func (m *matrices) bulk(c *tile.Config) (maps tensorMaps) {
	encode := func(of runtime.Slice[dsl.BF16], high int, stores bool) (dsl.TensorMap, error) {
		size := 2 * m.n
		return m.dev.EncodeTensorMap(runtime.TensorMap{Stores: stores, Addr: of.Addr(), Elem: 2, Sizes: [3]int{m.n, m.n, 1}, Strides: [2]int{size, size * m.n}, Box: [3]int{64, high, 1}})
	}
	if m.n%8 != 0 || jit.MatrixShape(m.dev, reflect.TypeFor[dsl.BF16](), dsl.MatrixWarpgroup) == 0 {
		return maps
	}
	var err [3]error
	maps.a, err[0] = encode(m.a, int(c.M), false)
	maps.b, err[1] = encode(m.b, int(c.K), false)
	maps.c, err[2] = encode(m.c, jit.MatrixShape(m.dev, reflect.TypeFor[dsl.BF16](), dsl.MatrixM), true)
	maps.possible = errors.Join(err[:]...) == nil
	return maps
}

// persistent launches as many blocks as the device runs at a time, which go over the tiles, or fewer if
// they take no more rounds: those that are left out would slow the others down.
func (m *matrices) persistent(c tile.Config, layer bool) func() error {
	m.fit(&c)
	maps := m.bulk(&c)
	warps, cluster := int(c.Warps()), max(int(c.Cluster), 1)
	if maps.possible {
		c.Bulk, c.OutSize = true, 2
		warps += 4 // of which one thread copies
	} else {
		c.Cluster, cluster = 1, 1
	}
	if !layer {
		c.OutSize = 0
	}
	g := m.grid(int(c.N), int(c.M), runtime.Dim3{X: warps * m.dev.WarpSize()})
	all, units := g.Blocks.X*g.Blocks.Y, max(m.dev.Info().Units/cluster, 1)*cluster
	rounds := (all + units - 1) / units
	g.Blocks = runtime.Dim3{X: min(ops.RoundUp((all+rounds-1)/rounds, cluster), units)}
	bulk, withEpilogue := jit.Of(kernels.Bulk), jit.Of(kernels.Layer)
	return func() error {
		if layer {
			return withEpilogue.Launch(m.stream, g, maps.a, maps.b, maps.c, m.c, m.a, m.b, m.bias, m.n, m.n, m.n, c, kernels.Relu)
		}
		return bulk.Launch(m.stream, g, maps.a, maps.b, m.c, m.a, m.b, m.n, m.n, m.n, c)
	}
}

// apart launches the product, and then what becomes of its results.
func (m *matrices) apart(c tile.Config) func() error {
	product, finish := m.persistent(c, false), jit.Of(kernels.Finish)
	return func() error {
		return errors.Join(product(), finish.Launch(m.stream, runtime.Cover(m.c.Len(), 256), m.c, m.bias, kernels.Relu))
	}
}

// library is the product of the tensor operations.
func (m *matrices) library() error {
	view := func(s runtime.Slice[dsl.BF16]) ops.View {
		return ops.View{Buf: s.Buffer(), DType: dtype.BF16, Layout: layout.Contiguous(layout.Shape{m.n, m.n})}
	}
	return matmul.Matmul(m.stream, view(m.c), view(m.a), view(m.b))
}

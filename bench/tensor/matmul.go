package main

import (
	"fmt"
	"math/rand/v2"
	"strings"

	"github.com/gokiln/kiln/ops"
	"github.com/gokiln/kiln/ops/dtype"
	elementwiseops "github.com/gokiln/kiln/ops/elementwise"
	indexops "github.com/gokiln/kiln/ops/index"
	"github.com/gokiln/kiln/ops/layout"
	matmulops "github.com/gokiln/kiln/ops/matmul"
	"github.com/gokiln/kiln/ops/random"
	"github.com/gokiln/kiln/ops/scatter"
	"github.com/gokiln/kiln/runtime"
	"github.com/gokiln/kiln/tensor"
)

// room makes a view of new memory, which holds zeros.
func room(d *tensor.Device, t dtype.DType, s ...int) ops.View {
	shape := layout.Shape(s)
	v := ops.View{DType: t, Layout: layout.Contiguous(shape)}
	mem, err := runtime.Alloc[byte](d.Runtime(), t.Bytes(shape.Count()))
	if err == nil {
		err = mem.Zero()
	}
	if err != nil {
		panic(fmt.Sprintf("no memory for %v of %v: %v", shape, t, err))
	}
	v.Buf = mem.Buffer()
	return v
}

// drawn makes a view of new memory with numbers that are not all the same, of which
// products are ordinary numbers.
func drawn(d *tensor.Device, t dtype.DType, s ...int) ops.View {
	v := room(d, t, s...)
	flat := v
	flat.Layout = layout.Contiguous(layout.Shape{v.Layout.Count()})
	switch {
	case t.IsFloat():
		_ = random.Uniform.Run(d.Stream(), flat, 1, 0, dtype.FromFloat(t, -1), dtype.FromFloat(t, 1)) // zeros do as well
	case t == dtype.I64 && v.Buf != nil:
		drawInts[int64](v, 1<<40)
	case t == dtype.I8 && v.Buf != nil:
		drawInts[int8](v, 64)
	}
	return v
}

// drawInts fills new memory with numbers from -limit up to limit, as peers/tensor.py does: zeros are
// sorted in other times, and take less power.
func drawInts[T int8 | int64](v ops.View, limit int64) {
	mem, err := runtime.View[T](v.Buf)
	if err != nil {
		return // operations say so
	}
	rng, numbers := rand.New(rand.NewPCG(1, 2)), make([]T, v.Layout.Count())
	for i := range numbers {
		numbers[i] = T(rng.Int64N(2*limit) - limit)
	}
	_ = mem.Slice(0, len(numbers)).CopyFrom(numbers)
}

// turned is a view of the transposed matrices.
func turned(v ops.View) ops.View {
	v.Layout, _ = v.Layout.Transpose(-2, -1) // which matrices have
	return v
}

// shapes are further products of 16-bit types, m by n by k: cubes, few and many steps along k, odd
// pitches, and layers of a network for few and many rows.
var shapes = [][3]int{
	{1024, 1024, 1024}, {2048, 2048, 2048}, {8192, 8192, 8192}, {4096, 4096, 256}, {4096, 4096, 1024}, {4096, 4096, 16384},
	{4095, 4097, 4099}, {16, 14336, 4096}, {64, 14336, 4096}, {256, 14336, 4096}, {2048, 14336, 4096},
}

// matmul is products of matrices: large ones in every configuration, and those of decoding,
// which read a matrix once.
func matmul(d *tensor.Device, small bool) []work {
	side, wide := 4096, 4096
	if small {
		side, wide = 1024, 2048
	}
	s := d.Stream()
	var list []work
	product := func(name, way string, t dtype.DType, m, n, k int, x, y ops.View, moves bool) {
		out := room(d, t, m, n)
		w := work{name: fmt.Sprintf("matmul %s %s", name, t), flops: 2 * float64(m) * float64(n) * float64(k)}
		if moves {
			w.flops, w.bytes = 0, float64(t.Bytes(m*k+k*n+m*n))
		}
		w.op = func() error {
			if way == "" {
				return matmulops.Matmul(s, out, x, y)
			}
			return matmulops.MatmulBy(s, way, out, x, y)
		}
		list = append(list, w)
	}
	for _, t := range []dtype.DType{dtype.F32, dtype.BF16, dtype.F64} {
		x, y := drawn(d, t, side, side), drawn(d, t, side, side)
		product(fmt.Sprintf("%d", side), "", t, side, side, side, x, y, false)
		if t == dtype.F32 && !small {
			for _, way := range matmulops.MatmulStrategies()[3:] {
				product(fmt.Sprintf("%d in %s", side, way), way, t, side, side, side, x, y, false)
			}
		}
		for _, s := range shapes {
			if t == dtype.BF16 && !small {
				product(fmt.Sprintf("%dx%dx%d", s[0], s[1], s[2]), "", t, s[0], s[1], s[2], drawn(d, t, s[0], s[2]), drawn(d, t, s[2], s[1]), false)
			}
		}
		if t != dtype.F32 && !small {
			for _, way := range matmulops.MatmulStrategies() {
				if strings.HasPrefix(way, "matrix") {
					product(fmt.Sprintf("%d in %s", side, way), way, t, side, side, side, x, y, false)
				}
			}
		}
		product(fmt.Sprintf("%d transposed", side), "", t, side, side, side, turned(x), turned(y), false)
		product("512", "", t, 512, 512, 512, room(d, t, 512, 512), room(d, t, 512, 512), false)
		product("64x64 of long sums", "", t, 64, 64, 16*side, drawn(d, t, 64, 16*side), drawn(d, t, 16*side, 64), false)
		matrix := drawn(d, t, wide, 4*wide)
		product("vector by rows", "", t, 1, wide, 4*wide, drawn(d, t, 1, 4*wide), turned(matrix), true)
		product("vector by columns", "", t, 1, 4*wide, wide, drawn(d, t, 1, wide), matrix, true)
		product("4 vectors by rows", "", t, 4, wide, 4*wide, drawn(d, t, 4, 4*wide), turned(matrix), true)
	}
	return append(list, narrow(d, small)...)
}

// narrow is products of 8-bit types with weights that are transposed, as matrix instructions want
// them, and results that hold the sums.
func narrow(d *tensor.Device, small bool) (list []work) {
	sides := []int{4096, 8192}
	if small {
		sides = []int{512, 1024}
	}
	for _, t := range [][2]dtype.DType{{dtype.F8E4M3, dtype.BF16}, {dtype.I8, dtype.I32}} {
		for _, n := range sides {
			x, y, out := drawn(d, t[0], n, n), turned(drawn(d, t[0], n, n)), room(d, t[1], n, n)
			w := work{name: fmt.Sprintf("matmul %d weights %s", n, t[0]), flops: 2 * float64(n) * float64(n) * float64(n)}
			w.op = func() error { return matmulops.Matmul(d.Stream(), out, x, y) }
			if list = append(list, w); t[0] != dtype.F8E4M3 {
				continue
			}
			of := func(rows, columns int) ops.View { return drawn(d, dtype.F32, rows, columns) }
			for _, how := range []struct {
				name string
				x, y ops.View
				o    matmulops.Options
			}{
				{"scaled", of(1, 1), of(1, 1), matmulops.Options{}}, {"scaled fast", of(1, 1), of(1, 1), matmulops.Options{Precision: matmulops.Medium}},
				{"scaled rows", of(n, 1), of(1, n), matmulops.Options{}}, {"scaled blocks", of(n, n/128), of(n/128, n/128), matmulops.Options{}},
			} {
				w.name = fmt.Sprintf("matmul %d weights %s %s", n, how.name, t[0])
				w.op = func() error { return matmulops.Scaled(d.Stream(), out, x, y, how.x, how.y, how.o) }
				list = append(list, w)
			}
		}
	}
	return list
}

// index is what reads and writes by indices, half of a large matrix.
func index(d *tensor.Device, small bool) []work {
	rows, wide := 32768, 4096
	if small {
		rows, wide = 4096, 1024
	}
	s := d.Stream()
	var list []work
	for _, t := range []dtype.DType{dtype.F32, dtype.BF16} {
		rows := rows * 4 / t.Size() // as many bytes of every type
		x, out, ids := drawn(d, t, rows, wide), room(d, t, rows/2, wide), room(d, dtype.U32, rows/2)
		_ = elementwiseops.Arange(s, ids, dtype.FromInt(dtype.U32, 1), dtype.FromInt(dtype.U32, 2)) // zeros are indices too
		size := 2 * float64(t.Bytes(rows/2*wide))
		name := func(op string) string { return op + " " + t.String() }
		all := ids
		all.Layout, _ = layout.New(layout.Shape{rows / 2, wide}, []int{1, 0}, 0)
		half := x
		half.Layout = out.Layout
		list = append(list,
			work{name: name("index_select"), bytes: size, op: func() error { return indexops.IndexSelect(s, out, x, ids, 0) }},
			work{name: name("gather"), bytes: size, op: func() error { return indexops.Gather(s, out, x, all, 0) }},
			work{name: name("scatter"), bytes: size, op: func() error { return scatter.Scatter(s, x, all, out, 0) }},
			work{name: name("index_add"), bytes: 1.5 * size, op: func() error { return scatter.IndexAdd(s, x, ids, out, 0) }},
			work{name: name("flip"), bytes: size, op: func() error { return indexops.Flip(s, out, half, 1) }},
		)
	}
	return append(list, own(d, small)...)
}

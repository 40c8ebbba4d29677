package language

import "github.com/gokiln/kiln/dsl"

type base struct{ id, n int32 }

func (b *base) inc()      { b.n++ }
func (b base) sum() int32 { return b.id + b.n }

type mid struct {
	base
	w float32
}

type derived struct {
	mid
	*couple
	extra [2][3]int32
}
type couple struct{ x, y int32 }

func (c *couple) flip() { c.x, c.y = c.y, c.x }

// Embed has embedded structs, promoted methods, arrays of arrays, anonymous
// structs, struct comparison.
//
//kiln:kernel
func Embed(t dsl.Thread, out []int32, in []int32) {
	i := t.Global()
	c := couple{in[i], 2}
	d := derived{mid: mid{base{1, 2}, 3}, couple: &c}
	d.inc()
	d.base.inc()
	d.flip()
	d.extra[1][i%3] = d.x
	row := d.extra[1]
	row[0]++
	same := row == d.extra[1]
	e := d.mid
	e.n = 9
	ne := e != d.mid
	anon := []int32{1, 2, int32(i)}
	grid := [3][4]int32{{1, 2}, 2: {3: int32(i)}}
	for _, r := range grid {
		for k, v := range r {
			grid[1][k] += v * 2
		}
	}
	pts := [...]struct{ a, b int32 }{{1, 2}, {3, int32(i)}}
	s := d.sum() + d.y*10 + d.extra[1][0] + d.extra[1][1] + d.extra[1][2] + anon[i%3] + grid[1][3] + pts[i&1].b
	if same {
		s += 1000
	}
	if ne {
		s += 2000
	}
	var z [2]struct{}
	s += int32(len(z))
	out[i] = s
}

// Ranges ranges over everything.
//
//kiln:kernel
func Ranges(t dsl.Thread, out []int, in []int) {
	i := t.Global()
	n := 0
	for range 3 {
		n++
	}
	for k := range uint8(5) {
		n += int(k)
	}
	for k := range in[i] & 7 {
		k *= 2
		n += k
	}
	arr := [4]int{1, 2, 3, 4}
	for k, v := range arr { // copy
		arr[3] = 100
		n += k * v
	}
	for k, v := range &arr {
		arr[3] = 200
		n += k * v
	}
	for k := range arr {
		n += arr[k]
	}
	for range in[:3] {
		n++
	}
	for k, v := range in[:3] {
		n += k * v
	}
	var k int
	for k = range 6 {
		if k == 4 {
			break
		}
	}
	n += k
	var fs [3]func() int
	_ = fs
	sum := 0
	for a, b := 0, 10; a < b; a, b = a+1, b-1 {
		f := func() int { return a*b + sum }
		sum += f()
	}
	type T int
	const N T = 4
	for x := range N {
		sum += int(x)
	}
	for x := range arr {
		x := x
		x++
		sum += x
	}
	n += min(n, sum, 7) + max(1, sum) + min(3)
	f := max(float32(n), 2.5)
	out[i] = n + sum + int(f)
}

// Cfg has fields that are fixed at compile time, and one that is not.
type Cfg struct {
	Tile dsl.ConstInt
	Deep struct {
		On dsl.ConstBool
		K  dsl.ConstInt
	}
	Scale float32
}

func (c Cfg) area() dsl.ConstInt { return c.Tile * c.Deep.K }

// Sized has arrays sized by a struct of compile-time values.
//
//kiln:kernel
//kiln:const cfg.Tile=8 cfg.Deep.K=2,4
func Sized(t dsl.Thread, out []float32, cfg Cfg, extra dsl.ConstInt, on dsl.ConstBool) {
	sh := dsl.SharedSlice[struct{ v, w float32 }](t, cfg.area()+extra)
	i := t.ThreadIndex()
	for k := i; k < len(sh); k += t.BlockSize() {
		sh[k].v = float32(k)
		sh[k].w = cfg.Scale
	}
	t.Sync()
	acc := dsl.LocalSlice[float32](cfg.Deep.K)
	for k := range acc {
		acc[k] = sh[(i+k)%len(sh)].v
	}
	s := float32(0)
	if bool(cfg.Deep.On) && bool(on) {
		for k := range cfg.Deep.K {
			s += acc[k] * sh[k].w
		}
	} else {
		switch cfg.Deep.K {
		case 2:
			s = acc[1]
		case 4:
			s = acc[3]
		}
	}
	if !on {
		s = -s
	}
	out[t.Global()] = s
}

// Geo3 is three-dimensional.
//
//kiln:kernel
func Geo3(t dsl.Thread, out []int) {
	x, y, z := t.GlobalX(), t.GlobalY(), t.GlobalZ()
	w, h := t.GridDimX()*t.BlockDimX(), t.GridDimY()*t.BlockDimY()
	out[(z*h+y)*w+x] = t.ThreadIndex() + 1000*t.BlockX() + 10000*t.BlockY() + 100000*t.BlockZ() + t.BlockSize()*7 + t.GridDimZ() + t.ThreadZ() + t.Warp()*3 + t.Lane()
}

// Warps has the operations of a warp and a block.
//
//kiln:kernel
func Warps[T dsl.Word](t dsl.Thread, out []T, in []T) {
	i := t.Global()
	x := in[i]
	o := out[i*12:]
	o[0] = dsl.Shuffle(t, x, t.Lane()*7+3)
	o[1] = dsl.ShuffleUp(t, x, 3)
	o[2] = dsl.ShuffleDown(t, x, 5)
	o[3] = dsl.ShuffleXor(t, x, 9)
	o[4] = dsl.WarpSum(t, x)
	o[5] = dsl.WarpMax(t, x)
	o[6] = dsl.WarpMin(t, x)
	o[7] = dsl.WarpScanSum(t, x)
	o[8] = dsl.BlockSum(t, x)
	o[9] = dsl.BlockMax(t, x)
	o[10] = dsl.BlockMin(t, x)
	o[11] = dsl.BlockScanSum(t, x)
}

// Vecs has vector accesses.
//
//kiln:kernel
func Vecs[T dsl.Number](t dsl.Thread, out, in []T) {
	i := t.Global()
	v := dsl.LoadVec[[4]T](in, i)
	v[0], v[3] = v[3], v[0]
	w := dsl.LoadVec[[2]T](in, i)
	v[1] = w[1]
	dsl.StoreVec(out, i, v)
}

package kernels

import (
	"github.com/gokiln/kiln/dsl"
	core "github.com/gokiln/kiln/ops/kernels"
)

// Product says where the elements of matrices are: out has M rows and N columns, x has M
// rows and K columns, and y K rows and N columns. Many of them are multiplied.
type Product struct {
	M, N, K    int
	OutM, OutN int // strides of out
	XM, XK     int // strides of x
	YK, YN     int // strides of y
	Batch      int // how many products
	Part       int // how much of K a block in z does
	Parts      int // distance in out of what blocks in z make

	XPlane, YPlane int // 1 if each product has a plane of its own in the tensor map of x, of y
}

// Ways in which [Gemm] stages an operand in shared memory.
const (
	AlongK  = iota // neighbouring threads go along k
	AcrossK        // neighbouring threads go across k
)

// Tile says how [Gemm] divides its work.
type Tile struct {
	M, N, K    dsl.ConstInt  // what a block holds in shared memory: M by K of x, K by N of y
	Rows, Cols dsl.ConstInt  // what a thread computes, multiples of 4
	Blocks     dsl.ConstInt  // for so many at once there are registers in a multiprocessor, or 0 for any number
	X, Y       dsl.ConstInt  // ways of the operands
	XVec, YVec dsl.ConstBool // vectors of four are contiguous, all of them inside or all outside
	OutVec     dsl.ConstBool // likewise of the result, along rows
}

// Threads is how many threads a block has.
func (c *Tile) Threads() dsl.ConstInt { return c.M / c.Rows * (c.N / c.Cols) }

// gap is the padding that keeps columns of a tile in different banks, and vectors of
// four aligned.
const gap = 4

// Shared is how many elements a block of [Gemm] has in shared memory.
func (c *Tile) Shared() int { return 2 * int(c.K) * int(c.M+gap+c.N+gap) }

// Gemm computes products of matrices. Tiles of the operands come into shared memory, the
// next ones while those that are there are used, and each thread sums a tile of the
// result in registers. Blocks in x go over tiles, in y over products, and in z over
// parts of k.
//
//kiln:kernel
//kiln:const cfg.M=64 cfg.N=64 cfg.K=8 cfg.Rows=4 cfg.Cols=4 cfg.Blocks=0,2 cfg.X=0,1 cfg.Y=0,1
func Gemm[O, T, C dsl.Number](t dsl.Thread, out []O, x, y []T, w core.Walk, p Product, cfg Tile, mad func(a, b, c C) C) {
	dsl.LaunchBounds(t, cfg.Threads(), cfg.Blocks)
	row, col := p.TileAt(t.BlockX(), int(cfg.M), int(cfg.N))
	lo := t.BlockZ() * p.Part
	hi := min(lo+p.Part, p.K)
	for z := t.BlockY(); z < p.Batch; z += t.GridDimY() {
		at := w.At(z)
		xs := dsl.LocalSlice[int](cfg.Loads(cfg.M, cfg.XVec))
		ys := dsl.LocalSlice[int](cfg.Loads(cfg.N, cfg.YVec))
		TileAddresses(t, xs, at[1]+lo*p.XK, row, p.M, p.XM, p.XK, cfg.M, &cfg, cfg.X, cfg.XVec)
		TileAddresses(t, ys, at[2]+lo*p.YK, col, p.N, p.YN, p.YK, cfg.N, &cfg, cfg.Y, cfg.YVec)
		acc := dsl.LocalSlice[C](cfg.Rows * cfg.Cols)
		MultiplyTile(t, acc, hi-lo, &cfg, mad, func(to []C, some int) {
			LoadTile(t, to, x, xs, some, p.XK, cfg.M, &cfg, cfg.X, cfg.XVec)
		}, func(to []C, some int) {
			LoadTile(t, to, y, ys, some, p.YK, cfg.N, &cfg, cfg.Y, cfg.YVec)
		})
		StoreTile(t, out, acc, at[0]+t.BlockZ()*p.Parts, row, col, &p, &cfg, func(n int) int { return n * p.OutN })
	}
}

// MultiplyTile adds the products of n places along k, of any operands, to acc. bringX and bringY
// load the thread's elements of the next tile: some of it, or all if that is cfg.K.
func MultiplyTile[C dsl.Number](t dsl.Thread, acc []C, n int, cfg *Tile, mad func(a, b, c C) C, bringX, bringY func(to []C, some int)) {
	xs := dsl.SharedSlice[C](t, 2*cfg.K*(cfg.M+gap))
	ys := dsl.SharedSlice[C](t, 2*cfg.K*(cfg.N+gap))
	xr := dsl.LocalSlice[C](cfg.M * cfg.K / cfg.Threads())
	yr := dsl.LocalSlice[C](cfg.N * cfg.K / cfg.Threads())
	if n <= 0 {
		return
	}
	// The first tile is the one that is not whole, so that no other asks what is there.
	rest := (n - 1) / int(cfg.K)
	some := n - rest*int(cfg.K)
	bringX(xr, some)
	bringY(yr, some)
	put(t, xs, xr, 0, cfg.M, cfg, cfg.X, cfg.XVec)
	put(t, ys, yr, 0, cfg.N, cfg, cfg.Y, cfg.YVec)
	t.Sync()
	half := 0
	for range rest {
		bringX(xr, int(cfg.K))
		bringY(yr, int(cfg.K))
		multiply(t, acc, xs, ys, half, cfg, mad)
		half = 1 - half
		put(t, xs, xr, half, cfg.M, cfg, cfg.X, cfg.XVec)
		put(t, ys, yr, half, cfg.N, cfg, cfg.Y, cfg.YVec)
		t.Sync()
	}
	multiply(t, acc, xs, ys, half, cfg, mad)
	t.Sync() // shared memory is free for another product
}

// TileAt returns where the tile of a block begins, of m rows and n columns. Neighbouring blocks are in bands of
// eight rows of tiles, and go down in them before they go on, so that those that run
// together share what they read.
func (p *Product) TileAt(block, m, n int) (row, col int) {
	const high = BandRows
	tm, tn := (p.M+m-1)/m, (p.N+n-1)/n
	band := block / (high * tn)
	first := band * high
	here := min(high, tm-first)
	i := block - first*tn
	return (first + i%here) * m, i / here * n
}

// Spot returns which element of a tile, size across k, the first load of a thread is, or
// the first of its vector, and how far its loads are apart. The threads fill whole rows,
// along k or across it.
func Spot(t dsl.Thread, size dsl.ConstInt, cfg *Tile, way dsl.ConstInt, vec dsl.ConstBool) (across, k, moreAcross, moreK int) {
	n := 1
	if vec {
		n = 4
	}
	if way == AlongK {
		row := int(cfg.K) / n
		return t.ThreadX() / row, t.ThreadX() % row * n, int(cfg.Threads()) / row, 0
	}
	row := int(size) / n
	return t.ThreadX() % row * n, t.ThreadX() / row, 0, int(cfg.Threads()) / row
}

// Loads is how many loads a thread has for its elements of a tile, size across k.
func (c *Tile) Loads(size dsl.ConstInt, vec dsl.ConstBool) dsl.ConstInt {
	if vec {
		return size * c.K / c.Threads() / 4
	}
	return size * c.K / c.Threads()
}

// TileAddresses stores where in memory the thread's elements of the first tile at a place are,
// from first on of limit across k, counted in vectors where they are. Instead of those
// that are not there others are read: what comes of them is not stored.
func TileAddresses(t dsl.Thread, places []int, at, first, limit, across, along int, size dsl.ConstInt, cfg *Tile, way dsl.ConstInt, vec dsl.ConstBool) {
	last := limit - 1
	if vec && way == AcrossK {
		last = limit - 4
	}
	a, k, moreA, moreK := Spot(t, size, cfg, way, vec)
	for i := range places {
		place := at + min(first+a+i*moreA, last)*across + (k+i*moreK)*along
		if vec {
			place >>= 2
		}
		places[i] = place
	}
}

// LoadTile loads the elements of a tile that are the thread's, and has places go on to the
// next one. Some of the tile is there along k, or all of it; the rest is 0.
func LoadTile[T, C dsl.Number](t dsl.Thread, to []C, from []T, places []int, some, along int, size dsl.ConstInt, cfg *Tile, way dsl.ConstInt, vec dsl.ConstBool) {
	step := some * along
	switch {
	case bool(vec) && way == AlongK:
		step = some >> 2
	case bool(vec):
		step >>= 2
	}
	_, k, _, moreK := Spot(t, size, cfg, way, vec)
	for i := range places {
		there := some == int(cfg.K) || k+i*moreK < some
		if vec {
			var v [4]T
			if there {
				v = dsl.LoadVec[[4]T](from, places[i])
			}
			for j := range 4 {
				to[i*4+j] = dsl.Convert[C](v[j])
			}
		} else {
			var v T
			if there {
				v = from[places[i]]
			}
			to[i] = dsl.Convert[C](v)
		}
		places[i] += step
	}
}

// put stores what [bring] has loaded in a half of shared memory, k by k.
func put[C dsl.Number](t dsl.Thread, to, from []C, half int, size dsl.ConstInt, cfg *Tile, way dsl.ConstInt, vec dsl.ConstBool) {
	pitch := int(size) + gap
	base := half * (int(cfg.K) * pitch)
	a, k, moreA, moreK := Spot(t, size, cfg, way, vec)
	base += k*pitch + a
	for i := range int(cfg.Loads(size, vec)) {
		at := base + i*(moreK*pitch+moreA)
		switch {
		case !bool(vec):
			to[at] = from[i]
		case way == AcrossK:
			for j := range 4 {
				to[at+j] = from[i*4+j]
			}
		default:
			for j := range 4 {
				to[at+j*pitch] = from[i*4+j]
			}
		}
	}
}

// corner returns where in the block the thread's tile is: rows and columns are in
// vectors of four, of which the first is here and others as far apart as all threads'
// first ones reach. Threads are in groups of four by eight, which read few places of
// shared memory at once. Two that are neighbours read the same columns, and those two
// apart the same rows: so a device that reads vectors for a few threads at a time reads
// them for twice as many.
func (c *Tile) corner(t dsl.Thread) (row, col int) {
	const down, side, pair = 4, 8, 2
	id := t.ThreadX()
	group, i := id/(down*side), id%(down*side)
	wide := int(c.N/c.Cols) / side
	row = group/wide*down + i/(side*pair)*pair + i%pair
	col = group%wide*side + i%(side*pair)/pair
	return row * 4, col * 4
}

// multiply adds the products of the tiles in a half of shared memory to acc.
func multiply[C dsl.Number](t dsl.Thread, acc, xs, ys []C, half int, cfg *Tile, mad func(a, b, c C) C) {
	rows, cols := int(cfg.Rows), int(cfg.Cols)
	downX, downY := int(cfg.M)+gap, int(cfg.N)+gap
	row, col := cfg.corner(t)
	row += half * (int(cfg.K) * downX)
	col += half * (int(cfg.K) * downY)
	x, y := dsl.LocalSlice[C](cfg.Rows), dsl.LocalSlice[C](cfg.Cols)
	for k := range int(cfg.K) {
		for i := range rows {
			x[i] = xs[row+(k*downX+i/4*(int(cfg.M)*4/rows)+i%4)]
		}
		for i := range cols {
			y[i] = ys[col+(k*downY+i/4*(int(cfg.N)*4/cols)+i%4)]
		}
		for i := range rows {
			for j := range cols {
				acc[i*cols+j] = mad(x[i], y[j], acc[i*cols+j])
			}
		}
	}
}

// StoreTile stores the thread's tile of the result; column says where a column is.
func StoreTile[O, C dsl.Number](t dsl.Thread, out []O, acc []C, at, row, col int, p *Product, cfg *Tile, column func(n int) int) {
	rows, cols := int(cfg.Rows), int(cfg.Cols)
	r, c := cfg.corner(t)
	r, c = r+row, c+col
	for i := range rows {
		ri := r + i/4*(int(cfg.M)*4/rows) + i%4
		if ri >= p.M {
			continue
		}
		for j := 0; j < cols; j += 4 {
			cj := c + j/4*(int(cfg.N)*4/cols)
			if cfg.OutVec {
				if cj < p.N {
					to := at + ri*p.OutM + column(cj)
					var v [4]O
					for e := range 4 {
						v[e] = dsl.Convert[O](acc[i*cols+j+e])
					}
					dsl.StoreVec(out, to>>2, v)
				}
				continue
			}
			for e := range 4 {
				if cj+e < p.N {
					out[at+ri*p.OutM+column(cj+e)] = dsl.Convert[O](acc[i*cols+j+e])
				}
			}
		}
	}
}

// SumParts stores the sums of n numbers, step apart, those of a few at a time first.
//
//kiln:kernel
func SumParts[T, C dsl.Number](t dsl.Thread, out []T, parts []C, w core.Walk, n, step int, add func(a, b C) C) {
	w.Each(t, func(at [core.Operands]int) { out[at[0]] = dsl.Convert[T](sumOf(parts, at[1], n, step, add)) })
}

// sumOf is the sum of n parts.
func sumOf[C dsl.Number](parts []C, at, n, step int, add func(a, b C) C) (sum C) {
	for i := 0; i < n; i += core.TreeSteps * partsAtOnce {
		sum = add(sum, sumRun(parts, at, i, min(i+core.TreeSteps*partsAtOnce, n), step, add))
	}
	return sum
}

// sumRun is the sum of parts i to n.
func sumRun[C dsl.Number](parts []C, at, i, n, step int, add func(a, b C) C) (sum C) {
	for ; i+partsAtOnce <= n; i += partsAtOnce {
		var v [partsAtOnce]C
		for k := range v {
			v[k] = parts[at+(i+k)*step]
		}
		for d := partsAtOnce / 2; d > 0; d /= 2 {
			for k := range d {
				v[k] = add(v[k], v[k+d])
			}
		}
		sum = add(sum, v[0])
	}
	for ; i < n; i++ {
		sum = add(sum, parts[at+i*step])
	}
	return sum
}

// partsAtOnce is how many parts a thread loads before it adds the first.
const partsAtOnce = 8

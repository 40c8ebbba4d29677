package kernels

import (
	"math"

	"github.com/gokiln/kiln/dsl"
	"github.com/gokiln/kiln/quantized/format"
)

// What a step of [TileDots] multiplies: columns of sums are rows of activations.
const (
	TileRows    = 16 // of the matrix of blocks
	TileColumns = 8
	tileParts   = 4 // of each row

	partWords  = TileColumns * 8 // of activations, for each part
	stagePitch = TileRows*8 + 8  // words of a part of all rows, so that parts begin in other banks
	stageWords = tileParts * stagePitch
)

// TileDots is [RoundingDots] by matrix instructions for bytes, for devices on which these have 16 by 8
// sums of 32 products and load fragments by [dsl.LoadMatrix]; elsewhere it does nothing. Of [Few] it
// takes Rows, up to 8, Warps and Teams. A warp takes four parts of 16 rows of the matrix at once, of
// which each lane has two, and passes their bytes on through shared memory. Sums of 32, or 16, products
// are integers, and scaled in float32. The warps of a team take parts in turn, and are added as a tree.
//
//kiln:kernel
//kiln:const c.Rows=1,3 c.Each=2 c.Warps=1,2 c.Teams=4 c.Lanes=1
func TileDots[F format.Block, T dsl.Float](
	t dsl.Thread, out, x []T, b []uint8, h []uint16, w []uint32, n, k, words int, c Few, f F,
) {
	if dsl.MatrixShape[int8, int32](t, dsl.MatrixLoads) == 0 {
		return
	}
	dsl.LaunchBounds(t, c.Teams*c.Warps*dsl.ConstInt(t.WarpSize()), 1)
	shared := dsl.DynamicShared[uint32](t, words)
	line, warps := k/format.PartLen, int(c.Warps)
	padded := (line + tileParts - 1) / tileParts * tileParts
	in := tileMemory{numbers: padded * partWords, zeros: padded * (partWords + TileColumns*tileNumbers(f))}
	in.stage = in.zeros + TileColumns*4 + t.Warp()*stageWords
	d := format.Data{B: b, H: h, W: w}
	team, begin, step := t.Warp()/warps, t.Warp()%warps*tileParts, int(c.Teams)*t.GridDimX()
	// Parts are loaded before those in front of them are multiplied, the first ones before activations
	// are rounded.
	var next [2]format.Part
	for e := range 2 {
		next[e] = tilePart(t, d, (team*t.GridDimX()+t.BlockX())*TileRows+8*e, begin, n, line, f)
	}
	roundColumns(t, shared, x, k, padded, &c, f)
	if t.ThreadX() < TileColumns*4 {
		shared[in.zeros+t.ThreadX()] = 0
	}
	t.Sync()
	for base := 0; base*TileRows < n; base += step {
		first := (base + team*t.GridDimX() + t.BlockX()) * TileRows
		if c.Warps == 1 && first >= n { // teams of several warps meet
			break
		}
		var sums [4]float32
		for i := begin; i < line; i += warps * tileParts {
			ps := next
			t.SyncWarp()
			for e := range 2 {
				at := in.stage/4 + t.Lane()%tileParts*(stagePitch/4) + t.Lane()/tileParts + 8*e
				dsl.StoreVec(shared, at, [4]uint32{ps[e].Q[0], ps[e].Q[1], ps[e].Q[2], ps[e].Q[3]})
				dsl.StoreVec(shared, at+TileRows, [4]uint32{ps[e].Q[4], ps[e].Q[5], ps[e].Q[6], ps[e].Q[7]})
			}
			t.SyncWarp()
			from, rows := i+warps*tileParts, first
			if from >= line {
				from, rows = begin, first+step*TileRows
			}
			for e := range 2 {
				next[e] = tilePart(t, d, rows+8*e, from, n, line, f)
			}
			addParts(t, &sums, &ps, shared, &in, i, f)
		}
		storeTile(t, out, &sums, first, n, &c)
	}
}

// tileMemory is where things begin in the shared memory of [TileDots], behind the bytes of activations:
// numbers of their parts, 128 bytes that are 0, and what lanes of this warp pass on to each other.
type tileMemory struct{ numbers, zeros, stage int }

// TileWords is how many words of shared memory [TileDots] takes for rows of so many parts, and for so
// many warps.
func TileWords[F format.Block](line, warps int, f F) int {
	padded := (line + tileParts - 1) / tileParts * tileParts
	return padded*(partWords+TileColumns*tileNumbers(f)) + TileColumns*4 + warps*stageWords
}

// tileNumbers is how many numbers there are for each part of a row: its scale, and this times the sum
// of its bytes, or of each half.
func tileNumbers[F format.Block](f F) int {
	if !f.HasMin() {
		return 1
	}
	return 1 + f.Scales()
}

// roundColumns stores activations in shared memory. Of each part there are 16 bytes of each row, the
// first one of which moves with the number of the part, so that parts of one row are in other banks;
// and then the other 16. Numbers of a part are those of all rows, one after another. Rows and parts that
// there are not are 0.
func roundColumns[F format.Block, T dsl.Float](t dsl.Thread, to []uint32, x []T, k, padded int, c *Few, f F) {
	runs, kinds := k/format.RunLen, tileNumbers(f)
	for base := 0; base < padded*4; base += t.BlockDimX() {
		i := base + t.ThreadX()
		vs := dsl.LocalSlice[[8]T](c.Rows) // all loads come first
		for m := range int(c.Rows) {
			vs[m] = dsl.LoadVec[[8]T](x, m*runs+min(i, runs-1))
		}
		for m := range TileColumns {
			var r rounding
			if m < int(c.Rows) {
				r = roundEight(t, vs[m])
			}
			if i >= runs {
				r = rounding{}
			}
			if i >= padded*4 {
				continue
			}
			part := i / 4
			dsl.StoreVec(to, part*(partWords/2)+i%4/2*(TileColumns*2)+(m+part)%TileColumns*2+i%2, r.words)
			if i%4 != 0 {
				continue
			}
			at := padded*partWords + part*kinds*TileColumns + m
			to[at] = math.Float32bits(r.scale)
			if kinds == 2 {
				to[at+TileColumns] = math.Float32bits(scaled(r.scale, r.sum+r.other))
			}
			if kinds == 3 {
				to[at+TileColumns] = math.Float32bits(scaled(r.scale, r.sum))
				to[at+2*TileColumns] = math.Float32bits(scaled(r.scale, r.other))
			}
		}
	}
}

// scaled is a sum of bytes times their scale.
func scaled(scale float32, sum int32) float32 { return scale * float32(sum) }

// tilePart reads a lane's part of four from part i on, of one of eight rows from the first one on. One
// behind the row is 0.
func tilePart[F format.Block](t dsl.Thread, d format.Data, first, i, n, line int, f F) format.Part {
	parts, size := f.Elems()/format.PartLen, uint32(f.Bytes()) // indices of bytes have 31 bits
	row, j := min(first+t.Lane()/tileParts, n-1), i+t.Lane()%tileParts
	block := uint32(row)*uint32(line/parts) + uint32(min(j, line-1)/parts)
	p := f.Part(d, int(block*size&math.MaxInt32), j%parts)
	if j >= line {
		return format.Part{}
	}
	return p
}

// addParts adds the products of four parts from part i on. Those of half a part are with activations
// of which the other half is 0.
func addParts[F format.Block](
	t dsl.Thread, sums *[4]float32, ps *[2]format.Part, shared []uint32, in *tileMemory, i int, f F,
) {
	l := t.Lane()
	a, b := dsl.LocalSlice[int8](16), dsl.LocalSlice[int8](16)
	for p := range tileParts {
		switch {
		case f.Scales() == 2: // two times B of one part
			at := (i+p)*partWords + l/16*(TileColumns*4) + (l+i+p)%TileColumns*4
			if half := l / 8; half == 1 || half == 2 {
				at = in.zeros + l%TileColumns*4
			}
			dsl.LoadMatrix(t, b, 0, shared, at, false)
		case p%2 == 0: // B of two parts
			part := i + p + l/16
			dsl.LoadMatrix(t, b, 0, shared, part*partWords+l/8%2*(TileColumns*4)+(l+part)%TileColumns*4, false)
		}
		dsl.LoadMatrix(t, a, 0, shared, in.stage+p*stagePitch+l/16*(TileRows*4)+l%16*4, false)
		for s := range f.Scales() {
			addScaled(t, sums, ps, a, b, (p*(2-f.Scales())+s)%2*8, shared, in.numbers, i+p, p, s, f)
		}
	}
}

// addScaled adds the product of the fragments a and b[at:], of part number part, which is p of those that
// lanes have, with scale s of it. A lane has sums of the rows of its own parts, and of two columns.
func addScaled[F format.Block](
	t dsl.Thread, sums *[4]float32, ps *[2]format.Part, a, b []int8, at int, shared []uint32, numbers, part, p, s int, f F,
) {
	c := dsl.LocalSlice[int32](4)
	for e := range 4 {
		c[e] = 0
	}
	dsl.MMA(t, a, 0, b, at, c, 0)
	from := t.Lane()/tileParts*tileParts + p
	col := numbers/2 + part*tileNumbers(f)*(TileColumns/2) + t.Lane()%4
	scales := dsl.LoadVec[[2]uint32](shared, col)
	var totals [2]uint32
	if f.HasMin() {
		totals = dsl.LoadVec[[2]uint32](shared, col+(1+s)*(TileColumns/2))
	}
	for e := range 2 {
		d := dsl.Shuffle(t, ps[e].D[s], from)
		for j := range 2 {
			sums[2*e+j] = dsl.FMA(float32(c[2*e+j])*d, math.Float32frombits(scales[j]), sums[2*e+j])
		}
		if f.HasMin() {
			m := dsl.Shuffle(t, ps[e].M[s], from)
			for j := range 2 {
				sums[2*e+j] = dsl.FMA(m, math.Float32frombits(totals[j]), sums[2*e+j])
			}
		}
	}
}

// storeTile adds the sums of the warps of a team, of TileRows rows of the matrix from the first one on,
// and stores them.
func storeTile[T dsl.Float](t dsl.Thread, out []T, sums *[4]float32, first, n int, c *Few) {
	const all = TileRows * TileColumns
	rows, warps := int(c.Rows), int(c.Warps)
	if warps == 1 {
		for e := range 4 {
			row, col := first+t.Lane()/4+e/2*8, t.Lane()%4*2+e%2
			if row < n && col < rows {
				out[col*n+row] = dsl.To[T](sums[e])
			}
		}
		return
	}
	shared := dsl.SharedSlice[float32](t, c.Teams*c.Warps*all)
	t.Sync()           // earlier sums may still be read
	for e := range 4 { // by columns
		shared[t.Warp()*all+(t.Lane()%4*2+e%2)*TileRows+t.Lane()/4+e/2*8] = sums[e]
	}
	t.Sync()
	threads := warps * t.WarpSize()
	from := t.Warp() / warps * warps * all
	for i := t.ThreadX() % threads; i < all; i += threads {
		v := dsl.LocalSlice[float32](c.Warps)
		for j := range warps {
			v[j] = shared[from+j*all+i]
		}
		for apart := 1; apart < warps; apart *= 2 {
			for j := 0; j < warps; j += 2 * apart {
				v[j] += v[j+apart]
			}
		}
		if row, col := first+i%TileRows, i/TileRows; row < n && col < rows {
			out[col*n+row] = dsl.To[T](v[0])
		}
	}
}

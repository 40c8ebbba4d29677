package kernels

import (
	"math"

	"github.com/gokiln/kiln/dsl"
	"github.com/gokiln/kiln/quantized/format"
)

// Band says what [BandDots] has in registers.
type Band struct {
	High dsl.ConstInt // rows of activations, a band, that are multiplied at once
	Each dsl.ConstInt // rows of the weight that a lane has
}

// BandActivations stores rows of activations as signed bytes, rounded as [Activations] does, in bands of
// so many rows: for each 32 elements along k, and for each row of the band, there are eight words of
// bytes and then the numbers of [Activations]. Rows that the last band lacks are not stored.
//
// Eight neighbouring lanes have 32 elements.
//
//kiln:kernel
//kiln:const high=4 numbers=2,4
func BandActivations[T dsl.Float](t dsl.Thread, out []uint32, x []T, line int, high dsl.ConstInt, numbers dsl.ConstInt) {
	words, size := len(x)/4, 8+int(numbers)
	for base := t.BlockX() * t.BlockDimX(); base < words; base += t.GridDimX() * t.BlockDimX() {
		i := base + t.ThreadX()
		r := roundFour(t, dsl.LoadVec[[4]T](x, min(i, words-1)))
		if i >= words {
			continue
		}
		row, part := i/8/line, i/8%line
		at := ((row/int(high)*line+part)*int(high) + row%int(high)) * size
		out[at+i%8] = r.word
		if i%8 != 0 {
			continue
		}
		out[at+8] = math.Float32bits(r.scale)
		if numbers == 2 {
			out[at+9] = math.Float32bits(float32(r.sum + r.other))
		}
		if numbers == 4 {
			out[at+9] = math.Float32bits(float32(r.sum))
			out[at+10] = math.Float32bits(float32(r.other))
		}
	}
}

// BandDots stores the products of m rows of activations, as [BandActivations] stores them, with all rows
// of a matrix of blocks. The lanes of a warp have neighbouring rows of the matrix, whose parts are read
// once to a panel, memory of the block's own, where lanes have neighbouring words, and then multiplied
// with all bands of activations. Bytes are multiplied by [dsl.Dot4], exactly, and the sums of 32, or 16,
// elements are scaled in float32 and added up in their order along k.
//
//kiln:kernel
//kiln:const c.High=4 c.Each=1,2
func BandDots[F format.Block, T dsl.Float](
	t dsl.Thread, out []T, x, panels []uint32, b []uint8, h []uint16, w []uint32, m, n, k int, c Band, f F,
) {
	d := format.Data{B: b, H: h, W: w, Shifts: true}
	lanes, line := t.WarpSize(), k/format.PartLen
	width, high := lanes*int(c.Each), int(c.High)
	size := PanelSize(f, c) * lanes
	panel := panels[t.BlockX()*line*size:][:line*size]
	for first := t.BlockX() * width; first < n; first += t.GridDimX() * width {
		fillPanel(t, panel, d, first, n, line, &c, f)
		for row := 0; row < m; row += high {
			sums := dsl.LocalSlice[float32](c.High * c.Each)
			for i := range high * int(c.Each) {
				sums[i] = 0
			}
			band := x[row*line*(8+Numbers(f)):][:line*high*(8+Numbers(f))]
			for i := range line {
				dotBand(t, sums, panel[i*size:][:size], band[i*high*(8+Numbers(f)):][:high*(8+Numbers(f))], &c, f)
			}
			for r := range high {
				for e := range int(c.Each) {
					if col := first + e*lanes + t.Lane(); row+r < m && col < n {
						out[(row+r)*n+col] = dsl.To[T](sums[r*int(c.Each)+e])
					}
				}
			}
		}
	}
}

// PanelSize is how many words for each lane [BandDots] has of a part of its rows.
func PanelSize[F format.Block](f F, c Band) int { return int(c.Each) * (8 + panelNumbers(f)) }

// panelNumbers is how many numbers a part has.
func panelNumbers[F format.Block](f F) int {
	if f.HasMin() {
		return 2 * f.Scales()
	}
	return f.Scales()
}

// fillPanel reads the parts of the rows of a matrix from the first one on, for each lane those of its own.
func fillPanel[F format.Block](t dsl.Thread, panel []uint32, d format.Data, first, n, line int, c *Band, f F) {
	lanes, numbers := t.WarpSize(), panelNumbers(f)
	parts, bytes := f.Elems()/format.PartLen, f.Bytes()
	for e := range int(c.Each) {
		row := min(first+e*lanes+t.Lane(), n-1)
		for block := range line / parts {
			for part := range parts {
				p := f.Part(d, (row*(line/parts)+block)*bytes, part)
				at := ((block*parts+part)*int(c.Each)+e)*(8+numbers)*lanes + t.Lane()
				for j := range 8 {
					panel[at+j*lanes] = p.Q[j]
				}
				for j := range f.Scales() {
					panel[at+(8+j)*lanes] = math.Float32bits(p.D[j])
					if f.HasMin() {
						panel[at+(8+f.Scales()+j)*lanes] = math.Float32bits(p.M[j])
					}
				}
			}
		}
	}
}

// dotBand adds the dot products of the parts that lanes have with a part of a band of activations.
func dotBand[F format.Block](t dsl.Thread, sums []float32, panel, band []uint32, c *Band, f F) {
	lanes, numbers := t.WarpSize(), panelNumbers(f)
	ps := dsl.LocalSlice[format.Part](c.Each)
	for e := range int(c.Each) {
		at := e*(8+numbers)*lanes + t.Lane()
		for j := range 8 {
			ps[e].Q[j] = panel[at+j*lanes]
		}
		for j := range f.Scales() {
			ps[e].D[j] = math.Float32frombits(panel[at+(8+j)*lanes])
			if f.HasMin() {
				ps[e].M[j] = math.Float32frombits(panel[at+(8+f.Scales()+j)*lanes])
			}
		}
	}
	for r := range int(c.High) {
		at := r * (8 + Numbers(f))
		var y [8]uint32
		var numbers [4]float32
		for j := range 8 {
			y[j] = band[at+j]
		}
		for j := range min(Numbers(f), 3) {
			numbers[j] = math.Float32frombits(band[at+8+j])
		}
		for e := range int(c.Each) {
			i := r*int(c.Each) + e
			sums[i] = dotWords(f, &ps[e], &y, &numbers, sums[i])
		}
	}
}

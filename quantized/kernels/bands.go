package kernels

import (
	"math"

	"github.com/gokiln/kiln/dsl"
	"github.com/gokiln/kiln/quantized/format"
)

// Band says what [BandDots] has in registers.
type Band struct {
	MR    dsl.ConstInt // rows of activations, a band, that are multiplied at once
	NR    dsl.ConstInt // rows of the weight that a lane has
	Lanes dsl.ConstInt // of a warp
}

// inverted is the top bits of bytes: with them inverted, signed bytes are unsigned ones that are
// 128 more.
const inverted = 0x80808080

// BandActivations stores rows of activations as signed bytes, rounded as [Activations] does, in
// bands of so many rows: for each 32 elements along k, and for each row of the band, there are
// eight words of bytes, the bits of their scale, the sum of these bytes, or of each half, times
// -128, and, for formats with minimums, the bits of the sum of these bytes, or of each half, as
// float32. Rows that the last band lacks are not stored.
//
// A block goes over bands, and eight neighbouring lanes have 32 elements.
//
//kiln:kernel
//kiln:const high=4
func BandActivations[F format.Block, T dsl.Float](
	t dsl.Thread, out []uint32, x []T, rows, line int, high dsl.ConstInt, f F,
) {
	words, size := line*8, BandSize(f)*int(high)
	for band := t.BlockX(); band*int(high) < rows; band += t.GridDimX() {
		for r := range min(int(high), rows-band*int(high)) {
			of := x[(band*int(high)+r)*words*4:][:words*4]
			to := out[band*line*size+r*BandSize(f):]
			for base := 0; base < words; base += t.BlockDimX() {
				roundBand(t, to, of, base, words, size, f)
			}
		}
	}
}

// roundBand stores four elements in each lane, from a word on, of so many in a row.
func roundBand[F format.Block, T dsl.Float](
	t dsl.Thread, to []uint32, of []T, base, words, size int, f F,
) {
	i := base + t.ThreadX()
	r := roundFour(t, dsl.LoadVec[[4]T](of, min(i, words-1)))
	if i >= words {
		return
	}
	word := t.ThreadX() & 7
	at := (base>>3 + t.ThreadX()>>3) * size
	to[at+word] = r.word
	if word != 0 {
		return
	}
	sums := [2]int32{r.sum + r.other}
	if f.Scales() == 2 {
		sums = [2]int32{r.sum, r.other}
	}
	to[at+bandScale] = math.Float32bits(r.scale)
	for half := range f.Scales() {
		to[at+bandBias+half] = uint32(-128 * sums[half])
		if f.HasMin() {
			to[at+bandBias+f.Scales()+half] = math.Float32bits(float32(sums[half]))
		}
	}
}

// Where [BandActivations] stores what is behind the bytes of 32 elements.
const (
	bandScale = 8
	bandBias  = 9 // of all elements, or of each half; sums for minimums are behind
)

// BandSize is how many words [BandActivations] stores for 32 elements.
func BandSize[F format.Block](f F) int {
	if f.HasMin() {
		return bandBias + 2*f.Scales()
	}
	return bandBias + f.Scales()
}

// BandDots stores the products of m rows of activations, as [BandActivations] stores them, with all
// rows of a matrix of blocks. The lanes of a warp have neighbouring rows of the matrix, whose parts
// are read once to a panel, memory of the block's own, where lanes have neighbouring words, and
// then multiplied with all bands of activations. Bytes are multiplied by [dsl.Dot4], exactly, and
// the sums of 32, or 16, elements are scaled in float32 and added up in their order along k.
//
//kiln:kernel
//kiln:const c.MR=4 c.NR=1,2 c.Lanes=8
func BandDots[F format.Block, T dsl.Float](
	t dsl.Thread, out []T, x, panels []uint32, b []uint8, h []uint16, w []uint32,
	m, n, k int, c Band, f F,
) {
	lane, lanes := t.ThreadX(), int(c.Lanes)
	if lane >= lanes { // which no lane is: it tells that indices are in range
		return
	}
	d := format.Data{B: b, H: h, W: w, Shifts: true}
	line, width, high := k/format.PartLen, lanes*int(c.NR), int(c.MR)
	size, words := PanelSize(f, c)*lanes, high*BandSize(f)
	panel := panels[t.BlockX()*line*size:][:line*size]
	for first := t.BlockX() * width; first < n; first += t.GridDimX() * width {
		fillPanel(panel, d, first, n, line, lane, &c, f)
		for row := 0; row < m; row += high {
			sums := dsl.LocalSlice[float32](c.MR * c.NR)
			for i := range high * int(c.NR) {
				sums[i] = 0
			}
			band := x[row*line*BandSize(f):][:line*words]
			for i := range line {
				dotBand(sums, panel[i*size:][:size], band[i*words:][:words], lane, &c, f)
			}
			for r := range high {
				for e := range int(c.NR) {
					if col := first + e*lanes + lane; row+r < m && col < n {
						out[(row+r)*n+col] = dsl.To[T](sums[r*int(c.NR)+e])
					}
				}
			}
		}
	}
}

// PanelSize is how many words for each lane [BandDots] has of a part of its rows.
func PanelSize[F format.Block](f F, c Band) int { return int(c.NR) * (8 + panelNumbers(f)) }

// panelNumbers is how many numbers a part has.
func panelNumbers[F format.Block](f F) int {
	if f.HasMin() {
		return 2 * f.Scales()
	}
	return f.Scales()
}

// fillPanel reads the parts of the rows of a matrix from the first one on, for each lane those of
// its own. Bytes are stored with their top bits inverted.
func fillPanel[F format.Block](
	panel []uint32, d format.Data, first, n, line, lane int, c *Band, f F,
) {
	lanes := int(c.Lanes)
	parts, bytes, size := f.Elems()/format.PartLen, f.Bytes(), (8+panelNumbers(f))*lanes
	for e := range int(c.NR) {
		row := min(first+e*lanes+lane, n-1)
		for block := range line / parts {
			at := (row*(line/parts) + block) * bytes
			for pair := 0; pair < parts; pair += 2 {
				a, b := f.Part(d, at, pair), f.Part(d, at, min(pair+1, parts-1)) // of the same words
				to := panel[(block*parts+pair)*int(c.NR)*size:]
				storePart(to[e*size:][:size], &a, lane, c, f)
				if pair+1 < parts {
					storePart(to[(int(c.NR)+e)*size:][:size], &b, lane, c, f)
				}
			}
		}
	}
}

// storePart stores what a lane has of a part.
func storePart[F format.Block](to []uint32, p *format.Part, lane int, c *Band, f F) {
	lanes, scales := int(c.Lanes), f.Scales()
	for j := range 8 {
		to[j*lanes+lane] = p.Q[j] ^ inverted
	}
	for j := range scales {
		to[(8+j)*lanes+lane] = math.Float32bits(p.D[j])
		if f.HasMin() {
			to[(8+scales+j)*lanes+lane] = math.Float32bits(p.M[j])
		}
	}
}

// dotBand adds the dot products of the parts that lanes have with a part of a band of activations.
func dotBand[F format.Block](sums []float32, panel, band []uint32, lane int, c *Band, f F) {
	lanes, high, each := int(c.Lanes), int(c.MR), int(c.NR)
	numbers, words, step := panelNumbers(f), 8/f.Scales(), BandSize(f)
	size := (8 + numbers) * lanes
	v := dsl.LocalSlice[float32](c.MR * c.NR)
	for half := range f.Scales() {
		acc := dsl.LocalSlice[int32](c.MR * c.NR)
		for i := range high * each {
			acc[i] = int32(band[i/each*step+bandBias+half])
		}
		for j := range words {
			word := half*words + j
			for r := range high {
				y := int32(band[r*step+word])
				for e := range each {
					acc[r*each+e] = dotUnsigned(panel[e*size+word*lanes+lane], y, acc[r*each+e])
				}
			}
		}
		for e := range each {
			d := math.Float32frombits(panel[e*size+(8+half)*lanes+lane])
			for r := range high {
				i := r*each + e
				if half == 0 {
					v[i] = float32(acc[i]) * d
				} else {
					v[i] = dsl.FMA(float32(acc[i]), d, v[i])
				}
				if f.HasMin() {
					m := math.Float32frombits(panel[e*size+(8+f.Scales()+half)*lanes+lane])
					v[i] = dsl.FMA(m, math.Float32frombits(band[r*step+bandBias+f.Scales()+half]), v[i])
				}
			}
		}
	}
	for i := range high * each {
		sums[i] = dsl.FMA(v[i], math.Float32frombits(band[i/each*step+bandScale]), sums[i])
	}
}

// dotUnsigned returns c plus the dot product of the unsigned bytes of a with the signed ones of b.
// On processors that have one it is an instruction.
func dotUnsigned(a uint32, b, c int32) int32 {
	const less = inverted - 1<<32               // -128 in each byte
	signed := dsl.Dot4(int32(a^inverted), b, c) // of bytes that are 128 less
	return signed - dsl.Dot4(less, b, 0)
}

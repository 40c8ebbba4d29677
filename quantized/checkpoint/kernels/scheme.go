package kernels

import (
	"math"

	"github.com/gokiln/kiln/dsl"
	core "github.com/gokiln/kiln/ops/kernels"
)

// RunLen is how many neighbouring elements of a row a thread takes at once. Rows are whole runs,
// and the elements of a run have one scale.
const RunLen = 8

// Data is what the elements of a weight are computed from, beside scales. The codes of elements are
// in Q, row after row, in the scheme's bits, lowest bits first.
type Data struct {
	Q []uint32
	Z []uint8   // zero points, or scales of 8 bits
	M []float32 // values of codes
}

// Layout says which block an element belongs to, whose elements have one scale.
type Layout struct {
	Line       int          // runs in a row
	Across     int          // blocks across the columns
	Rows, Runs core.Divisor // of a block of rows and columns, the latter in runs
	Shift      int          // of a block of a flattened weight: the logarithm of how many runs it has
	Nested     int          // of a block of scales: the logarithm of how many it has
}

// Scheme is a way to store a weight: kernels take it as type argument and are compiled for it.
type Scheme interface {
	// Block is the number of the block that run r of a row is in.
	Block(l *Layout, row, r int) int
	// Scale is the scale of block i, of scales stored as s.
	Scale(d *Data, l *Layout, s float32, i int) float32
	// ScaleAt is where the scale of block i is stored.
	ScaleAt(l *Layout, i int) int
	// Values are the elements of run r of a row in units of the scale of block i, exactly.
	Values(d *Data, l *Layout, row, r, i int) [RunLen]float32
}

// grid is blocks of some rows and columns, with one scale of its own each.
type grid struct{}

// Block is as [Scheme] says.
func (grid) Block(l *Layout, row, r int) int {
	down, _ := l.Rows.DivMod(row)
	along, _ := l.Runs.DivMod(r)
	return down*l.Across + along
}

// ScaleAt is as [Scheme] says.
func (grid) ScaleAt(_ *Layout, i int) int { return i }

// Scale is as [Scheme] says.
func (grid) Scale(_ *Data, _ *Layout, s float32, _ int) float32 { return s }

// Int2, Int3, Int4 and Int8 are integers of so many bits, with a zero point for each block: an
// element is the difference of both times the scale.
type (
	Int2 struct{ grid }
	Int3 struct{ grid }
	Int4 struct{ grid }
	Int8 struct{ grid }
)

// Values is as [Scheme] says.
func (Int2) Values(d *Data, l *Layout, row, r, i int) [RunLen]float32 {
	run := row*l.Line + r
	w := d.Q[run>>1] >> (run & 1 * 16)
	return differences(w, w>>8, 2, d.Z[i])
}

// Values is as [Scheme] says. The 24 bits of a run are in one word or in two.
func (Int3) Values(d *Data, l *Layout, row, r, i int) [RunLen]float32 {
	at := 3 * (row*l.Line + r)
	shift := at & 3 * 8
	w := d.Q[at>>2] >> shift
	if shift > 8 {
		w |= d.Q[at>>2+1] << (32 - shift)
	}
	return differences(w, w>>12, 3, d.Z[i])
}

// Values is as [Scheme] says.
func (Int4) Values(d *Data, l *Layout, row, r, i int) [RunLen]float32 {
	w := d.Q[row*l.Line+r]
	return differences(w, w>>16, 4, d.Z[i])
}

// Values is as [Scheme] says.
func (Int8) Values(d *Data, l *Layout, row, r, i int) [RunLen]float32 {
	at := 2 * (row*l.Line + r)
	return differences(d.Q[at], d.Q[at+1], 8, d.Z[i])
}

// magic has as float32 the value 2^23: what is or-ed into its lowest bits is added to it.
const magic = 0x4B000000

// differences are codes without their zero point: four of some bits in the lowest ones of lo, four
// in those of hi. Codes and zero point are put into the lowest bits of 2^23, which is exact and
// takes fewer instructions than a conversion.
func differences(lo, hi uint32, bits int, zero uint8) (v [RunLen]float32) {
	z := math.Float32frombits(magic | uint32(zero))
	mask := uint32(1)<<bits - 1
	for j := range RunLen / 2 {
		v[j] = math.Float32frombits(magic|lo>>(j*bits)&mask) - z
		v[j+4] = math.Float32frombits(magic|hi>>(j*bits)&mask) - z
	}
	return v
}

// E4M3 is 8-bit floating-point numbers, E4M3.
type E4M3 struct{ grid }

// Values is as [Scheme] says.
func (E4M3) Values(d *Data, l *Layout, row, r, _ int) (v [RunLen]float32) {
	at := 2 * (row*l.Line + r)
	for j := range RunLen {
		v[j] = dsl.F32(dsl.F8E4M3(uint8(d.Q[at+j>>2] >> (j & 3 * 8))))
	}
	return v
}

// Codebook is codes of 4 bits for 16 values, in blocks of the flattened weight. The first of two
// neighbours is in the upper half of a byte.
type Codebook struct{}

// Block is as [Scheme] says.
func (Codebook) Block(l *Layout, row, r int) int { return (row*l.Line + r) >> l.Shift }

// ScaleAt is as [Scheme] says.
func (Codebook) ScaleAt(_ *Layout, i int) int { return i }

// Scale is as [Scheme] says.
func (Codebook) Scale(_ *Data, _ *Layout, s float32, _ int) float32 { return s }

// Values is as [Scheme] says.
func (Codebook) Values(d *Data, l *Layout, row, r, _ int) (v [RunLen]float32) {
	w := d.Q[row*l.Line+r]
	for j := range RunLen {
		v[j] = d.M[w>>((j^1)*4)&15]
	}
	return v
}

// Entries of the values of codes of a weight whose scales are quantized too: first those of
// elements, then those of scales, and the mean of the scales.
const (
	ScaleValues = 16
	ScaleMean   = ScaleValues + 256
)

// Nested is a Codebook whose scales are codes of 8 bits for 256 values, in blocks with a scale
// each, and with a mean that was taken away from all.
type Nested struct{ Codebook }

// ScaleAt is as [Scheme] says.
func (Nested) ScaleAt(l *Layout, i int) int { return i >> l.Nested }

// Scale is as [Scheme] says. The product is rounded before the sum.
func (Nested) Scale(d *Data, _ *Layout, s float32, i int) float32 {
	return float32(d.M[ScaleValues+int(d.Z[i])]*s) + d.M[ScaleMean]
}

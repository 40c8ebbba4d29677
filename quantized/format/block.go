package format

import (
	"embed"
	"math"

	"github.com/gokiln/kiln/dsl"
)

//go:embed *.go
var source embed.FS

var _ = dsl.Source(source)

// RunLen is how many neighbouring elements a [Run] has. All formats have blocks of whole runs, and
// scales that are those of whole runs.
const RunLen = 8

// Block is a format as a type: kernels take it as type argument, and are compiled for it. Types that
// implement it have no fields.
type Block interface {
	// Elems is how many elements a block has.
	Elems() int
	// Bytes is how many bytes a block has.
	Bytes() int
	// Run reads elements RunLen·r to RunLen·r+7 of the block that begins at byte at of d.
	Run(d Data, at, r int) Run
	// Scales is how many scales a [Part] has: 1, or 2 for a half each.
	Scales() int
	// HasMin reports whether M of a [Part] may be other than 0.
	HasMin() bool
	// Part reads elements PartLen·p to PartLen·p+31 of the block that begins at byte at of d.
	Part(d Data, at, p int) Part
	// TableLen is how many words the table has in which Part looks up, see [Data], a multiple of 4;
	// TableWord makes one.
	TableLen() int
	TableWord(i int) uint32
}

// noTable is a format that looks nothing up.
type noTable struct{}

// TableLen is 0.
func (noTable) TableLen() int { return 0 }

// TableWord is never called.
func (noTable) TableWord(int) uint32 { return 0 }

// Run is eight neighbouring elements of a block: element j is D·Q[j] + M, with both operations
// rounded. Q is signed bytes, lowest byte first, so that a dot product with other signed bytes is
// two operations of dsl.Dot4.
//
// This is the one form in which kernels meet every format. It is exact: it gives the bits of the
// formula of the format, the sign of zero included, for which M is -0 where a format has no minimum.
type Run struct {
	Q    [2]uint32
	D, M float32
}

// At returns element j, of 0 to 7.
func (r *Run) At(j int) float32 {
	return float32(r.D*float32(int8(r.Q[j>>2]>>(j&3*8)))) + r.M
}

// scaled is a run of a format without minimum.
func scaled(lo, hi uint32, d float32) Run {
	return Run{[2]uint32{lo, hi}, d, math.Float32frombits(1 << 31)} // x + -0 is x, also for -0
}

// Data is the bytes of blocks: the same memory as bytes, halves and words, since blocks of most
// formats are aligned to 2 bytes only, and a device loads four bytes at once where it can. Halves
// and words are little endian, and what is left of the bytes at the end is not in them.
type Data struct {
	B []uint8
	H []uint16
	W []uint32

	Shifts bool // bytes of two words are picked by shifts, which take less than dsl.Permute on CPUs

	// A kernel that has blocks in shared memory has words alone there, and a table of the format.
	Words bool
	Table []uint32
}

// U8 returns the byte at i.
func (d *Data) U8(i int) uint32 {
	if d.Words {
		return d.W[i>>2] >> (uint32(i) & 3 * 8) & 255
	}
	return uint32(d.B[i])
}

// U16 returns the two bytes at i, which is even.
func (d *Data) U16(i int) uint32 {
	if d.Words {
		return d.W[i>>2] >> (uint32(i) & 2 * 8) & 65535
	}
	return uint32(d.H[i>>1])
}

// U32 returns the four bytes at i, which is a multiple of 4.
func (d *Data) U32(i int) uint32 { return d.W[i>>2] }

// U32Of16 returns the four bytes at i, which is even.
func (d *Data) U32Of16(i int) uint32 { return d.U16(i) | d.U16(i+2)<<16 }

// joined16 is the word whose halves are number i and the next one of a list.
func joined16(h []uint16, i int) uint32 { return uint32(h[i]) | uint32(h[i+1])<<16 }

// U32Of8 returns the four bytes at i.
func (d *Data) U32Of8(i int) uint32 {
	return d.U8(i) | d.U8(i+1)<<8 | d.U8(i+2)<<16 | d.U8(i+3)<<24
}

// F16 returns the half-precision number at i, which is even.
func (d *Data) F16(i int) float32 { return half(d.U16(i)) }

// Arithmetic on the four bytes of a word.

const (
	lowNibbles = 0x0F0F0F0F
	ones       = 0x01010101
	tops       = 0x80808080
)

// lessBytes takes c, up to 128, from each byte, which is below 128.
func lessBytes(w, c uint32) uint32 { return ((w | tops) - c*ones) ^ tops }

// spreadBits puts each of the lowest four bits into a byte.
func spreadBits(x uint32) uint32 {
	x &= 15
	return (x | x<<7 | x<<14 | x<<21) & ones
}

// spreadPairs puts each pair of the lowest eight bits into a byte.
func spreadPairs(x uint32) uint32 {
	x &= 255
	return (x | x<<6 | x<<12 | x<<18) & (3 * ones)
}

// negateBytes changes the sign of those bytes, none of which is 0, whose bit of the lowest four of
// signs is set.
func negateBytes(w, signs uint32) uint32 {
	s := spreadBits(signs)
	return (w ^ s*255) + s
}

// lookup returns for each byte of w, which are below 16, the byte of that number of a table.
func lookup(w, t0, t1, t2, t3 uint32) uint32 {
	sel := (w | w>>4) & 0x00770077
	sel |= sel >> 8
	upper := (w >> 3 & ones) * 255
	return dsl.Permute(t0, t1, sel)&^upper | dsl.Permute(t2, t3, sel)&upper
}

package kernels

import (
	"github.com/gokiln/kiln/dsl"
	"github.com/gokiln/kiln/quantized/format"
)

// CopyingDots is [RoundingDots] whose warps, each a team of its own, copy the bytes of their rows to
// shared memory, some steps ahead and before activations are rounded. Lanes that read blocks from
// memory themselves read few bytes each at distances that are no power of two, so that a load needs
// many lines of the cache, and have few loads in flight. A step is some parts for each lane, of which
// addresses have much in common. Shared memory has the table of the format, activations, and so many
// steps for each warp, see [CopyingWords]. The weight is a multiple of 16 bytes.
// A multiprocessor has room for so many blocks.
//
//kiln:kernel
//kiln:const c.Rows=1,3 c.Each=1,2 c.Warps=1 c.Teams=4 c.Lanes=1 deep=1,2 stages=3 room=1
func CopyingDots[F format.Block, T dsl.Float](
	t dsl.Thread, out, x []T, b []uint8, h []uint16, w []uint32, n, k, words int, c Few, deep, stages, room dsl.ConstInt, f F,
) {
	dsl.LaunchBounds(t, c.Teams*dsl.ConstInt(t.WarpSize()), room)
	shared := dsl.DynamicShared[uint32](t, words)
	line, parts := k/format.PartLen, f.Elems()/format.PartLen
	rows, each, warp := int(c.Rows), int(c.Each), t.WarpSize()
	values := dsl.LocalSlice[[8]T](c.Rows * ahead(&c))
	loadRuns(t, values, x, k, 0, &c) // which would wait for the copies
	r := newCopies(t, n, k, &c, deep, stages, f)
	read := r // what is multiplied next
	//kiln:unroll 1
	for range int(stages) - 1 {
		r.copy(t, shared, w, &c)
		r.next(&c)
	}
	for i := t.ThreadX(); i < f.TableLen(); i += t.BlockDimX() {
		shared[i] = f.TableWord(i)
	}
	rounded := shared[f.TableLen():]
	roundRuns(t, values, rounded, x, k, &c, f)
	t.Sync()
	part, at := t.Lane()%parts, uint32(t.Lane()/parts*f.Bytes())
	for read.first < read.n {
		first := int(read.first)
		sums := dsl.LocalSlice[float32](c.Rows * c.Each)
		for i := range rows * each {
			sums[i] = 0
		}
		for i := t.Lane(); read.first == uint32(first); i += warp * int(deep) {
			dsl.CopyWaitGroups(stages - 2)
			t.SyncWarp() // all lanes are done with the step before, whose place is the next one
			r.copy(t, shared, w, &c)
			r.next(&c)
			ps := dsl.LocalSlice[format.Part](c.Each)
			//kiln:unroll
			for j := range int(deep) {
				d := format.Data{W: shared[j*(warp/parts)*f.Bytes()/4:], Words: true, Table: shared}
				for e := range each {
					from := (read.place+uint32(e)*read.words)*4 + (read.row(e)&15 + at)
					ps[e] = f.Part(d, int(int32(from)), part)
				}
				inside := i+j*warp < line // others are any bytes
				for m := range rows {
					y, numbers := readPart(t, rounded, m, i+j*warp, line, &c, f)
					for e := range each {
						sum := dotWords(f, &ps[e], &y, &numbers, sums[e*rows+m])
						if inside {
							sums[e*rows+m] = sum
						}
					}
				}
			}
			read.next(&c)
		}
		for i := range rows * each {
			sums[i] = dsl.WarpSum(t, sums[i])
		}
		storeSums(t, out, sums, first, n, &c)
	}
}

// CopyingWords is how many words of shared memory [CopyingDots] takes for rows of so many elements:
// those of [RoundingWords], for each warp so many steps of so many rows, and a table.
func CopyingWords(f format.Block, k, warpSize int, c *Few, deep, stages int) int {
	step := stepWords(f.Bytes(), f.Elems()/format.PartLen, warpSize*deep)
	activations := RoundingWords(int(c.Rows), k/format.PartLen, Numbers(f))
	return (activations+3)&^3 + int(c.Teams*c.Each)*stages*step + f.TableLen()
}

// stepWords is how many words the bytes of a step take, which begin in the middle of 16.
func stepWords(size, parts, warpSize int) int { return (warpSize/parts*size+15)/16*4 + 4 }

// copies goes over the steps of a warp's rows, and over their places in shared memory, of which words
// are counted. Indices of bytes have 31 bits.
type copies struct {
	first, n   uint32 // the first row of a step, and how many there are
	at, left   uint32 // its first byte in that row, and how many the row has from there on
	place      uint32
	begin, end uint32 // of all places
	bytes      uint32 // of a row
	span       uint32 // of a step
	words      uint32 // of its place
	rows       uint32 // from the first row of a step to that of the next rows
}

func newCopies[F format.Block](t dsl.Thread, n, k int, c *Few, deep, stages dsl.ConstInt, f F) (r copies) {
	line, parts := k/format.PartLen, f.Elems()/format.PartLen
	r.n, r.bytes = uint32(n), uint32(line/parts*f.Bytes())
	r.rows = uint32(c.Teams*c.Each) * uint32(t.GridDimX())
	r.first = uint32(c.Each) * (uint32(t.Warp())*uint32(t.GridDimX()) + uint32(t.BlockX()))
	r.at, r.left = r.first*r.bytes, r.bytes
	r.span, r.words = uint32(t.WarpSize()/parts*f.Bytes())*uint32(deep), uint32(stepWords(f.Bytes(), parts, t.WarpSize()*int(deep)))
	all := r.words * uint32(c.Each*stages)
	r.begin = uint32(f.TableLen()+RoundingWords(int(c.Rows), line, Numbers(f))+3)&^3 + uint32(t.Warp())*all
	r.place, r.end = r.begin, r.begin+all
	return r
}

// row is where the step of a row begins, of so many: beyond the last one of the weight of the first.
func (r *copies) row(e int) uint32 {
	if e > 0 && r.first+uint32(e) >= r.n {
		return r.at
	}
	return r.at + uint32(e)*r.bytes
}

// copy begins to copy a step, if there is one.
func (r *copies) copy(t dsl.Thread, to, w []uint32, c *Few) {
	if r.first < r.n {
		for e := range int(c.Each) {
			from := r.row(e)
			length := min(r.left, r.span) + from&15
			at := (r.place + uint32(e)*r.words) / 4
			for v := uint32(0); v < r.words/4; v += uint32(t.WarpSize()) {
				if i := v + uint32(t.Lane()); i*16 < length {
					dsl.CopyVecAsync[[4]uint32](to, int(int32(at+i)), w, int(int32(from/16+i)))
				}
			}
		}
	}
	dsl.CopyCommit()
}

// next goes on to the next step.
func (r *copies) next(c *Few) {
	r.place += uint32(c.Each) * r.words
	if r.place == r.end {
		r.place = r.begin
	}
	if r.left > r.span {
		r.at, r.left = r.at+r.span, r.left-r.span
		return
	}
	r.first += r.rows
	r.at, r.left = r.first*r.bytes, r.bytes
}

package kernels

import (
	"github.com/gokiln/kiln/dsl"
	"github.com/gokiln/kiln/dsl/block"
)

// Where blocks may wait for each other, long rows are sorted in one sweep for each digit
// (Adinolfi and Merrill, "Onesweep: a faster least significant digit radix sort for GPUs",
// 2022): all digits are counted at once before, and where the keys of a tile go a block
// finds in the status words of those before it (decoupled look-back). Tiles are numbered by tickets,
// and none waits for a later one.
//
// A row has a word for each tile and digit, 0 at first: then how many keys of the tile have
// the digit, times 4, with [own] added, and as soon as it is known with [upTo] how many of
// the row belong in front of those of the next tile that have it.
const (
	own  = 1
	upTo = 2
)

// MostSwept bounds the keys of a row that is sorted by sweeps.
const MostSwept = 1<<30 - 1

// SortHistogram counts all digits of the keys of rows, so many of s.Bits from s.From on,
// into words from s.Counts on.
//
//kiln:kernel
//kiln:const s.Each=2 s.TileItems=64 s.Blocks=0 s.Bits=4,8 s.X=true,false passes=2,4
func SortHistogram[T dsl.Number, K Key](t dsl.Thread, words []uint32, x []T, keys []K, w Ranks, o Order, s Digits, passes dsl.ConstInt, key func(T) K) {
	const copies = 2 // of a counter, as neighbours often have the same digit
	all := int(passes) << int(s.Bits)
	count := dsl.SharedSlice[uint32](t, copies*passes<<s.Bits)
	for r := t.BlockY(); r < s.Rows; r += t.GridDimY() {
		for i := t.ThreadX(); i < copies*all; i += t.BlockDimX() {
			count[i] = 0
		}
		t.Sync()
		for i := t.BlockX(); i < s.Parts; i += t.GridDimX() {
			p := tileOf(&w, &s, r, i)
			var k [mostEach]K
			loadKeys(t, p, &k, x, keys, &w, o, &s, key)
			mine := count[t.ThreadX()%copies:]
			for e := range int(s.Each) {
				if p.n == int(s.TileItems) || item(t, &s)+e*t.WarpSize() < p.n {
					rest := k[e] >> uint(s.From)
					for d := range int(passes) {
						dsl.AtomicAdd(&mine[(d<<int(s.Bits)+digitOf(rest, d*int(s.Bits), s.Bits))*copies], 1)
					}
				}
			}
		}
		t.Sync()
		for i := t.ThreadX(); i < all; i += t.BlockDimX() {
			if sum := count[i*copies] + count[i*copies+1]; sum != 0 {
				dsl.AtomicAdd(&words[s.Counts+r*all+i], sum)
			}
		}
		t.Sync()
	}
}

// SortSweep is [SortTiles] without sums of counts: a block adds up what the tiles before its own have
// published. words has a counter of tickets for each pass first, all zero.
//
//kiln:kernel
//kiln:const s.Each=2 s.TileItems=64 s.Blocks=0 s.Next=32 s.Bits=4 s.X=true,false s.Last=true,false
func SortSweep[T dsl.Number, K Key](t dsl.Thread, values []T, indices []uint32, toKeys []K, toAt []uint32, x []T, keys []K, at, words []uint32, w, wi Ranks, o Order, s Digits, pass, passes int, key func(T) K, back func(K) T) {
	dsl.LaunchBounds(t, s.TileItems/s.Each, s.Blocks)
	staged := dsl.SharedSlice[K](t, s.TileItems)
	from := dsl.SharedSlice[uint32](t, s.TileItems)
	next := dsl.SharedSlice[uint16](t, s.Next)
	start := dsl.SharedSlice[uint32](t, 1<<s.Bits)
	digits, d := 1<<int(s.Bits), t.ThreadX()

	ticket := block.Ticket(t, &words[pass])
	r := ticket / s.Parts
	i := ticket - r*s.Parts
	p := tileOf(&w, &s, r, i)
	var k [mostEach]K
	loadKeys(t, p, &k, x, keys, &w, o, &s, key)
	total := uint32(0)
	if i == 0 && d < digits {
		total = words[s.Counts+(r*passes+pass)*digits+d]
	}
	pos, begin, count := rankTile(t, &s, next, s.Bits, func(e int) int { return digitOf(k[e], s.From, s.Bits) })
	tiles := words[s.Look+(pass*s.Rows+r)*s.Parts*digits:]
	if i > 0 && d < digits {
		dsl.AtomicStore(&tiles[i*digits+d], 4*count+own)
	}
	for e := range int(s.Each) {
		staged[pos[e]] = k[e]
	}
	var a [mostEach]uint32
	loadIndices(t, p, &a, at, &s) // which hides the latency of the status words
	before := uint32(0)
	if i == 0 {
		before = dsl.BlockScanExclusive(t, total)
	} else if d < digits {
		before = sweptBefore(tiles, i, d, digits)
	}
	if d < digits {
		dsl.AtomicStore(&tiles[i*digits+d], 4*(before+count)+upTo)
		start[d] = before - begin
	}
	for e := range int(s.Each) {
		from[pos[e]] = a[e]
	}
	t.Sync()
	scatterTile(t, p, values, indices, toKeys, toAt, x, staged, from, start, &w, &wi, o, &s, key, back)
}

// sweptBefore is where the keys of tile i that have digit d go: it adds up what the tiles
// before have published, the nearest first, until one has the sum of all before it.
func sweptBefore(tiles []uint32, i, d, digits int) (sum uint32) {
	const inFlight = 4 // loads in flight
	for i--; ; i -= inFlight {
		var status [inFlight]uint32
		for k := range inFlight {
			status[k] = dsl.AtomicLoad(&tiles[max(i-k, 0)*digits+d])
		}
		for k := range inFlight {
			v := status[k]
			for v == 0 {
				v = dsl.AtomicLoad(&tiles[max(i-k, 0)*digits+d])
			}
			sum += v / 4
			if v&upTo != 0 {
				return sum
			}
		}
	}
}

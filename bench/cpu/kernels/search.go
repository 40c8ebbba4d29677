package kernels

import "github.com/gokiln/kiln/dsl"

const (
	// MatchWindow is how far back Matches looks.
	MatchWindow = 64
	matchLength = 32
)

// Matches finds, for each byte of text, the longest piece of at most 32 bytes that
// stands in the 64 before it, too: its length, and how far back it is. Of several that
// are as long it is the nearest.
//
//kiln:kernel
func Matches(t dsl.Thread, length, back []uint8, text []uint8) {
	i := t.Global()
	if i >= len(text) {
		return
	}
	limit := min(matchLength, len(text)-i)
	best, at := 0, 0
	for d := 1; d <= MatchWindow && d <= i; d++ {
		n := 0
		for n < limit && text[i+n] == text[i-d+n] {
			n++
		}
		if n > best {
			best, at = n, d
		}
	}
	length[i], back[i] = uint8(best), uint8(at)
}

// HashMatches finds for each byte of text how long the piece is that the text repeats
// from its candidate, which is an earlier byte with the same hash or -1, up to 255 bytes.
//
//kiln:kernel
func HashMatches(t dsl.Thread, length []uint8, text []uint8, candidate []int32) {
	i := t.Global()
	if i >= len(text) {
		return
	}
	n, c := 0, int(candidate[i])
	if c >= 0 {
		for n < 255 && i+n < len(text) && text[i+n] == text[c+n] {
			n++
		}
	}
	length[i] = uint8(n)
}

// ScanTile is how many numbers a block of LookBack adds.
const ScanTile = 256 * 8

const (
	scanNothing = iota // what a block has told of itself
	scanPart
	scanWhole
)

// LookBack writes the sums of x up to and with each number, in one pass: a block adds its
// own, tells them, and looks back at the blocks before it until it finds one that knows the
// sum of all up to it. state is zero: a word that counts the blocks as they begin, and
// for each block two words. It wants blocks of 256 threads.
//
//kiln:kernel
func LookBack(t dsl.Thread, out, x []uint32, state []uint64) {
	tile := dsl.Shared[[ScanTile]uint32](t)
	number := dsl.Shared[uint32](t)
	before := dsl.Shared[uint32](t)
	me := t.ThreadX()
	if me == 0 {
		*number = uint32(dsl.AtomicAdd(&state[0], 1))
	}
	t.Sync()
	n := int(*number)
	for k := me; k < ScanTile; k += 256 {
		tile[k] = 0
		if i := n*ScanTile + k; i < len(x) {
			tile[k] = x[i]
		}
	}
	t.Sync()
	var v [8]uint32
	var sum uint32
	for k := range v {
		sum += tile[me*8+k]
		v[k] = sum
	}
	below := dsl.BlockScanExclusive(t, sum)
	if me == 255 {
		total := below + sum
		kind := uint64(scanPart)
		if n == 0 {
			kind = scanWhole
		}
		dsl.AtomicExch(&state[n+1], kind<<32|uint64(total))
		var all uint32
		for b := n - 1; b >= 0; {
			word := dsl.AtomicLoad(&state[b+1])
			switch word >> 32 {
			case scanNothing:
				continue
			case scanWhole:
				all += uint32(word)
				b = -1
				continue
			}
			all += uint32(word)
			b--
		}
		dsl.AtomicExch(&state[n+1], scanWhole<<32|uint64(all+total))
		*before = all
	}
	t.Sync()
	for k := range v {
		tile[me*8+k] = *before + below + v[k]
	}
	t.Sync()
	for k := me; k < ScanTile; k += 256 {
		if i := n*ScanTile + k; i < len(out) {
			out[i] = tile[k]
		}
	}
}

// ScanBegin clears the state of LookBack.
//
//kiln:kernel
func ScanBegin(t dsl.Thread, state []uint64) {
	if i := t.Global(); i < len(state) {
		state[i] = 0
	}
}

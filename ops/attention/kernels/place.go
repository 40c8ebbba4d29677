package kernels

import "github.com/gokiln/kiln/dsl"

// place is what a block has of an attention: a tile of the rows of a plane, and a split of its
// keys.
type place struct {
	batch, head, split int
	row                int // the first of its rows
	base               int // the plane's first row among those of all planes
	key                int // where the keys begin: how many are before them, or pages
}

// Numbers of a sequence in the table of a [Problem].
const (
	atQuery   = iota // queries before its own, if Features say Packed
	atQueries        // how many it has
	atKey            // keys before its own, or pages in the list of pages
	atKeys           // how many it has
	SequenceLen
)

// turn returns the plane and the tile that number at is of. If last is true, the last ones come first:
// later queries may attend to more keys, and long tiles come before short ones.
func (p *Problem) turn(at int, last dsl.ConstBool) (plane, tile int) {
	plane = divide(at, p.Tiles)
	if tile = at - plane*p.Tiles; last {
		tile = p.Tiles - 1 - tile
	}
	return plane, tile
}

// divide is a/b of numbers that are not negative: in 32 bits, which takes a fourth of the time, if they
// have no more.
func divide(a, b int) int {
	if uint64(a|b)>>32 == 0 {
		return int(uint32(a) / uint32(b))
	}
	return a / b
}

// place returns what the block has. Blocks are splits of tiles of planes. If Features say Ragged,
// the table has four numbers for each batch, from the first one on, and the problem becomes that of
// the block's batch. If they say Packed, the table has two numbers for each tile of rows of a head,
// from TilesAt on: the batch and the first row.
func (p *Problem) place(t dsl.Thread, table []int32, m int, f *Features) (b place) {
	at := t.BlockX()
	if f.Split {
		tile := divide(at, p.Splits)
		at, b.split = tile, at-tile*p.Splits
	}
	if f.Packed {
		b.head = at % p.Heads
		n := p.TilesAt + at/p.Heads*2
		b.batch, b.row = int(table[n]), int(table[n+1])
	} else {
		plane, tile := p.turn(at, f.Bounded)
		b.row, b.base = tile*m, plane*p.Rows
		b.batch = divide(plane, p.Heads)
		b.head = plane - b.batch*p.Heads
	}
	if f.Ragged {
		n := b.batch * SequenceLen
		b.key, p.Keys = int(table[n+atKey]), int(table[n+atKeys])
		if f.Packed {
			p.S = int(table[n+atQueries])
			p.Rows, b.base = p.S*p.Groups, (b.head*p.Tokens+int(table[n+atQuery]))*p.Groups
		}
		p.Off = p.Keys - p.S
	}
	return b
}

// query returns the head of its group and the number that the query of a row has: heads are behind
// each other, and those of a token if queries are packed.
func (p *Problem) query(row int, packed dsl.ConstBool) (group, query int) {
	if packed {
		query = divide(row, p.Groups)
		return row - query*p.Groups, query
	}
	group = divide(row, p.S)
	return group, row - group*p.S
}

// keysOf is keys for a tile that has queries of heads or of tokens behind each other.
func (p *Problem) keysOf(row, n int, f *Features) (begin, end int) {
	if !bool(f.Bounded) || !bool(f.Packed) {
		return p.keys(row, n, f.Bounded)
	}
	last := min(row+n, p.Rows) - 1
	return p.between(divide(row, p.Groups), divide(last, p.Groups))
}

// keys returns the first key that a tile of rows can attend to, and the one behind the last.
func (p *Problem) keys(row, n int, bounded dsl.ConstBool) (begin, end int) {
	if !bounded {
		return 0, p.Keys
	}
	last := min(row+n, p.Rows) - 1
	return p.between(p.ofHeads(row, last))
}

// span returns the positions of the first and the last query of a tile of rows, or of all queries of
// heads that it has parts of.
func (p *Problem) span(row, n int, f *Features) (low, high int) {
	last := min(row+n, p.Rows) - 1
	if f.Packed {
		return divide(row, p.Groups) + p.Off, divide(last, p.Groups) + p.Off
	}
	low, high = p.ofHeads(row, last)
	return low + p.Off, high + p.Off
}

// ofHeads returns the first and the last query of the rows of a plane from one to another, all of a head
// if they are of several.
func (p *Problem) ofHeads(row, last int) (low, high int) {
	before := divide(row, p.S) * p.S
	if last-before >= p.S {
		return 0, p.S - 1
	}
	return row - before, last - before
}

// between returns the keys that queries from one to another can attend to.
func (p *Problem) between(low, high int) (begin, end int) {
	return max(low+p.Off-p.Left, 0), min(high+p.Off+p.Right+1, p.Keys)
}

// part returns the keys of one of several splits: tiles of n keys, as many each but for the last
// ones.
func part(begin, end, split, splits, n int) (first, last int) {
	tiles := (end - begin + n - 1) / n
	each := (tiles + splits - 1) / splits * n
	first = begin + split*each
	return first, min(first+each, end)
}

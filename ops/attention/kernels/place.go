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

// place returns what the block has. Blocks are splits of tiles of planes. If Features say Ragged,
// the table has four numbers for each batch, from the first one on, and the problem becomes that of
// the block's batch. If they say Packed, the table has two numbers for each tile of rows of a head,
// from TilesAt on: the batch and the first row.
func (p *Problem) place(t dsl.Thread, table []int32, m int, f *Features) (b place) {
	at := t.BlockX()
	if f.Split {
		at, b.split = at/p.Splits, at%p.Splits
	}
	if f.Packed {
		b.head = at % p.Heads
		n := p.TilesAt + at/p.Heads*2
		b.batch, b.row = int(table[n]), int(table[n+1])
	} else {
		plane, tile := at/p.Tiles, at%p.Tiles
		if f.Bounded {
			tile = p.Tiles - 1 - tile // later queries may attend to more keys, and long tiles come first
		}
		b.row, b.base = tile*m, plane*p.Rows
		b.batch, b.head = plane/p.Heads, plane%p.Heads
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
		return row % p.Groups, row / p.Groups
	}
	return row / p.S, row % p.S
}

// keysOf is keys for a tile that has queries of heads or of tokens behind each other.
func (p *Problem) keysOf(row, n int, f *Features) (begin, end int) {
	if !bool(f.Bounded) || !bool(f.Packed) {
		return p.keys(row, n, f.Bounded)
	}
	last := min(row+n, p.Rows) - 1
	return p.between(row/p.Groups, last/p.Groups)
}

// keys returns the first key that a tile of rows can attend to, and the one behind the last.
func (p *Problem) keys(row, n int, bounded dsl.ConstBool) (begin, end int) {
	if !bounded {
		return 0, p.Keys
	}
	last := min(row+n, p.Rows) - 1
	if row/p.S != last/p.S { // of several heads
		return p.between(0, p.S-1)
	}
	return p.between(row%p.S, last%p.S)
}

// span returns the positions of the first and the last query of a tile of rows, or of all queries of
// heads that it has parts of.
func (p *Problem) span(row, n int, f *Features) (low, high int) {
	last := min(row+n, p.Rows) - 1
	switch {
	case bool(f.Packed):
		low, high = row/p.Groups, last/p.Groups
	case row/p.S != last/p.S:
		low, high = 0, p.S-1
	default:
		low, high = row%p.S, last%p.S
	}
	return low + p.Off, high + p.Off
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

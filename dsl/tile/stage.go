package tile

import "github.com/gokiln/kiln/dsl"

// layout is how a factor is stored in a stage: rows of elements that are contiguous in memory.
type layout struct {
	rows, length dsl.ConstInt
	chunk        dsl.ConstInt // elements in 16 bytes
	order        dsl.ConstInt
}

// layoutOf returns the layout of a factor with so many rows or columns.
func (c *Config) layoutOf(across, order dsl.ConstInt) layout {
	if order == AlongK {
		return layout{across, c.K, c.Chunk, order}
	}
	return layout{c.K, across, c.Chunk, order}
}

// panel is how many chunks make a row.
const panel = 8

// RowBytes is how long the rows of factors are in shared memory.
const RowBytes = panel * chunkBytes

// at returns the index of element (r, c), c a multiple of the chunk or not. Chunks of a row are
// permuted by its number: those that lanes read together, a column of eight rows of whole chunks or
// one of four rows of pairs of 8-byte elements, are in different banks.
func (b *layout) at(r, c int) int {
	n := int(b.chunk)
	k := c / n
	return (k/panel*int(b.rows)+r)*(panel*n) + (k%panel^b.swizzle(r))*n + c%n
}

// swizzle is what the numbers of chunks in row r are xored with.
func (b *layout) swizzle(r int) int {
	if b.chunk == 2 {
		return r % (panel / 2) * 2
	}
	return r % panel
}

// of returns the index of the element of row or column i of the factor, k along k.
func (b *layout) of(i, k int) int {
	if b.order == AlongK {
		return b.at(i, k)
	}
	return b.at(k, i)
}

// ofFragment is of with the place of a fragment apart: down along the rows or columns and right along k.
// Rows of a fragment's height further down are permuted alike, so that fragments below each other are
// found from one address.
func (b *layout) ofFragment(i, down, k, right int) int {
	row := panel * int(b.chunk)
	if b.order == AlongK {
		return b.at(i, k+right) + down*row
	}
	return b.at(k, i+down) + right*row
}

// loader copies a factor to shared memory: a thread has one chunk of each of its rows of 128 bytes.
type loader[T dsl.Number] struct {
	f          Factor[T]
	b          layout
	vec        dsl.ConstBool
	row, panel int // of the first chunk
	chunk      int // of 128 bytes
	step       int // rows of 128 bytes from one to the next
	src        int // its index in memory, and strides there, in chunks if they are copied as such:
	down       int // from row to row
	along      int // from one k to the next, or from one chunk of them
	right      int // from one panel to the next
	page       int // from one page to the next
}

// newLoader divides the chunks of a factor among threads: eight have a row of 128 bytes.
func newLoader[T dsl.Number](t dsl.Thread, f Factor[T], b layout, vec dsl.ConstBool, c *Config) loader[T] {
	m := loader[T]{f: f, b: b, vec: vec, row: t.ThreadX() / panel, chunk: t.ThreadX() % panel, step: int(c.Threads(t)) / panel}
	if m.step > int(b.rows) {
		m.row, m.panel = m.row%int(b.rows), m.row/int(b.rows)
	}
	n := int(b.chunk)
	switch {
	case bool(vec) && b.order == AlongK:
		m.down, m.right = f.Across/n, panel
		m.src = f.At/n + m.chunk
	case bool(vec):
		m.down, m.along, m.right = f.Along/n, f.Along/n, panel
		m.src = f.At/n + m.chunk
	case b.order == AlongK:
		m.down, m.along, m.right = f.Across, f.Along, panel*n*f.Along
		m.src = f.At + m.chunk*n*f.Along
	default:
		m.down, m.along, m.right = f.Along, f.Along, panel*n*f.Across
		m.src = f.At + m.chunk*n*f.Across
	}
	m.src += m.panel * m.right
	if f.Page > 0 {
		if m.page = f.PageStride; vec {
			m.page /= n
		}
	} else {
		m.src += m.row * m.down
	}
	return m
}

// load copies a stage of the factor to shared memory from chunk base on: what begins at k, of limit
// along k.
func (m *loader[T]) load(to []T, base, k, limit int) {
	n, height := int(m.b.chunk), int(m.b.rows)
	rows, cols := m.f.Limit, limit-k // how many there are
	src := m.src + k*m.along
	if bool(m.vec) && m.b.order == AlongK {
		src = m.src + k/n
	}
	number := m.f.First + m.row // of the row, if there are pages
	if m.b.order == AcrossK {
		rows, cols = cols, rows
		if m.f.Page > 0 {
			src, number = m.src, number+k
		}
	}
	panels := int(m.b.length) / (panel * n)
	down, right := min(m.step, height), max(m.step/height, 1) // from one chunk to the next
	dst := base + (m.panel*height+m.row)*panel + (m.chunk ^ m.b.swizzle(m.row))
	for p := 0; p < panels; p += right {
		first := (m.chunk + (m.panel+p)*panel) * n // column
		if panels%right != 0 && m.panel+p >= panels {
			continue
		}
		there := rows
		if bool(m.vec) && first >= cols {
			there = 0
		}
		from := src + p*m.right
		for r := 0; r < height; r += down {
			if height%down != 0 && m.row+r >= height {
				continue
			}
			at := dst + (p*height+r)*panel
			if down%panel != 0 {
				at += (m.chunk ^ m.b.swizzle(m.row+r)) - (m.chunk ^ m.b.swizzle(m.row))
			}
			place := from
			if m.f.Page > 0 {
				place += m.inPage(number+r, m.row+r < there)
			} else {
				from += down * m.down
			}
			if m.vec {
				copyChunk(to, at, m.f.Mem, place, m.row+r < there, m.b.chunk)
			} else {
				m.loadEach(to, at*n, place, m.row+r < there, cols-first)
			}
		}
	}
}

// inPage returns where a row of pages begins, if it is there.
func (m *loader[T]) inPage(row int, there bool) int {
	if !there {
		return 0
	}
	return int(m.f.Pages[row/int(m.f.Page)])*m.page + row%int(m.f.Page)*m.down
}

// loadEach loads the elements of a chunk one by one: as many of a row as there are.
func (m *loader[T]) loadEach(to []T, dst, src int, inside bool, cols int) {
	along := m.f.Along
	if m.b.order == AcrossK {
		along = m.f.Across
	}
	for e := range int(m.b.chunk) {
		var v T
		if inside && e < cols {
			v = m.f.Mem[src+e*along]
		}
		to[dst+e] = v
	}
}

// copyChunk begins to copy a chunk, or zeros.
func copyChunk[T dsl.Number](to []T, i int, from []T, j int, ok bool, n dsl.ConstInt) {
	switch n {
	case 2:
		dsl.CopyVecAsyncOrZero[[2]T](to, i, from, j, ok)
	case 4:
		dsl.CopyVecAsyncOrZero[[4]T](to, i, from, j, ok)
	case 8:
		dsl.CopyVecAsyncOrZero[[8]T](to, i, from, j, ok)
	default:
		dsl.CopyVecAsyncOrZero[[16]T](to, i, from, j, ok)
	}
}

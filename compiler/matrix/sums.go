package matrix

import "slices"

// Sums of a product are factor A of another one, once they are converted: where a lane has the same
// rows of both, they stay where they are. Which column of A is which of the sums does not matter, as
// long as the rows of B are in the same order.

// run is how many elements of a lane are in one row before there is one of the next: contributions
// to columns, then to rows.
func (l Layout) run() int {
	for i, c := range l.Reg {
		if c.Row != 0 {
			return 1 << i
		}
	}
	return l.Len()
}

// rowLanes is the bits of a lane that contribute to columns.
func (l Layout) rowLanes() (mask int) {
	for i, c := range l.Lane {
		if c.Col != 0 {
			mask |= 1 << i
		}
	}
	return mask
}

// columns are the contributions of a lane's elements to columns, the lowest first.
func (l Layout) columns() (out []int) {
	for _, c := range l.Reg {
		if c.Col != 0 {
			out = append(out, c.Col)
		}
	}
	return out
}

// rows are those to rows, of lane and element.
func (l Layout) rows() (out [2][]int) {
	for _, c := range l.Lane {
		out[0] = append(out[0], c.Row)
	}
	for _, c := range l.Reg {
		if c.Row != 0 {
			out[1] = append(out[1], c.Row)
		}
	}
	return out
}

// reuse returns the layout of B for which the sums of a lane are its elements of A, and whether it is
// that of B itself. Its elements are those for all fragments of A that the sums make, one after the
// other. ok is false if lanes would have to exchange sums.
func (u *Unit) reuse() (b Layout, same, ok bool) {
	rows, want := u.A.rows(), u.C.rows()
	if !slices.Equal(rows[0], want[0]) || !slices.Equal(rows[1], want[1]) || u.A.rowLanes() != u.C.rowLanes() {
		return Layout{}, false, false
	}
	columns := u.C.columns()
	for n := u.N; n < u.K; n *= 2 {
		columns = append(columns, n) // of further fragments
	}
	of := map[int]int{} // column of the sums by that of A
	for i, c := range u.A.Lane {
		of[c.Col] = u.C.Lane[i].Col
	}
	own := u.A.columns()
	for i, c := range own {
		of[c] = columns[i]
	}
	same = true
	for from, to := range of {
		same = same && from == to
	}
	b.Lane, b.Reg = reordered(u.B.Lane, of), reordered(u.B.Reg, of)
	for i, c := range columns[len(own):] {
		b.Reg = append(b.Reg, Coord{Row: c})
		same = same && c == u.K<<i
	}
	return b, same, true
}

// reordered puts rows where of says.
func reordered(list []Coord, of map[int]int) []Coord {
	list = slices.Clone(list)
	for i := range list {
		list[i].Row = of[list[i].Row]
	}
	return list
}

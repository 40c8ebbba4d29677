package dump

import (
	"fmt"
	"strings"

	"github.com/gokiln/kiln/compiler/ir"
	"github.com/gokiln/kiln/compiler/matrix"
	"github.com/gokiln/kiln/compiler/target"
)

// Layout is how a matrix is distributed over the lanes of a warp, or over shared memory.
type Layout struct {
	Title string
	Note  string
	Cells [][]string // of its rows and columns
}

// layouts are those of the matrix instructions of a module.
func layouts(m *ir.Module, t target.Target) (list []Layout) {
	seen := map[ir.MatrixKind]bool{}
	swizzled := false
	for _, f := range m.Funcs {
		for _, b := range f.Blocks {
			for _, v := range b.Instrs {
				if v.Op != ir.OpMMA && v.Op != ir.OpWarpgroupMMA {
					continue
				}
				swizzled = swizzled || v.Op == ir.OpWarpgroupMMA
				if kind, _ := v.MatrixKind(); !seen[kind] {
					seen[kind] = true
					list = append(list, ofUnit(matrix.For(t, kind))...)
				}
			}
		}
	}
	if swizzled {
		list = append(list, swizzle())
	}
	return list
}

// ofUnit draws the operands of an instruction, nil draws none.
func ofUnit(u *matrix.Unit) (list []Layout) {
	if u == nil {
		return nil
	}
	for _, o := range []struct {
		name       string
		operand    ir.MatrixOperand
		rows, cols int
	}{{"A", ir.MatrixA, u.M, u.K}, {"B", ir.MatrixB, u.K, u.N}, {"sums", ir.MatrixC, u.M, u.N}} {
		list = append(list, Layout{
			Title: fmt.Sprintf("%s of %s, %d×%d", o.name, u.Name, o.rows, o.cols),
			Note:  "lane.element, for each lane that has it",
			Cells: cellsOf(u.Of(o.operand), o.rows, o.cols),
		})
	}
	return list
}

// cellsOf says for each element of a matrix which lanes have it, and as which of theirs.
func cellsOf(l matrix.Layout, rows, cols int) [][]string {
	held := make([][][]string, rows)
	for r := range held {
		held[r] = make([][]string, cols)
	}
	for lane := range l.Lanes() {
		for i := range l.Len() {
			r, c := l.At(lane, i)
			held[r][c] = append(held[r][c], fmt.Sprintf("%d.%d", lane, i))
		}
	}
	cells := make([][]string, rows)
	for r := range cells {
		for _, by := range held[r] {
			cells[r] = append(cells[r], strings.Join(by, " "))
		}
	}
	return cells
}

// swizzle draws where the chunks of rows of factors of warpgroups are in shared memory.
func swizzle() Layout {
	l := Layout{
		Title: "factors of a warpgroup in shared memory, rows of 128 bytes",
		Note:  "which 16 bytes of a row are at each place; eight rows further on it begins anew",
	}
	for row := range 8 {
		var cells []string
		for place := range 8 {
			cells = append(cells, fmt.Sprint(place^row))
		}
		l.Cells = append(l.Cells, cells)
	}
	return l
}

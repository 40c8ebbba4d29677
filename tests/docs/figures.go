package docs

import (
	"fmt"
	"strconv"

	"github.com/gokiln/kiln/tensor"
)

const (
	forward   = "#0969da"
	backwards = "#cf222e"
)

// Figures returns the pictures of docs/tensors.md by the names of their files. Those of
// views show what the views of a tensor are, not what somebody remembers of them: shapes,
// strides and the elements come from package tensor.
func Figures() (map[string]string, error) {
	dev, err := tensor.Open("cpu")
	if err != nil {
		return nil, err
	}
	defer dev.Close() //nolint:errcheck // it has done what it was for
	figures := map[string]string{"gradients.svg": gradients()}
	for name, draw := range map[string]func(*tensor.Device) (string, error){
		"views.svg": views, "broadcast.svg": broadcast, "reduce.svg": reduce, "index.svg": index,
	} {
		if figures[name], err = draw(dev); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	return figures, nil
}

// matrix draws a tensor of one or two dimensions whose elements are numbers of elements of
// some memory of n, by which they are coloured. An element of memory that comes again is drawn as a
// repetition if the tensor is a view of a stride of 0.
func (d *drawing) matrix(x, y, n int, t *tensor.Tensor) error {
	if t.Rank() == 1 {
		t = t.Unsqueeze(0)
	}
	rows, err := tensor.To2[int32](t)
	if err != nil {
		return err
	}
	strides := t.Strides()
	for i, row := range rows {
		for j, v := range row {
			repeats := i > 0 && strides[0] == 0 || j > 0 && strides[1] == 0
			d.cell(x+j*cellSize, y+i*cellSize, hue(int(v), n), strconv.Itoa(int(v)), repeats)
		}
	}
	return nil
}

// captioned draws a tensor under an expression, and what it is.
func (d *drawing) captioned(x, y, n int, name string, t *tensor.Tensor) error {
	d.text(x, y+14, "start", ink, name)
	d.text(x, y+32, "start", faded, fmt.Sprintf("shape %v", t.Shape()))
	d.text(x, y+50, "start", faded, fmt.Sprintf("strides %v", t.Strides()))
	return d.matrix(x, y+60, n, t)
}

// panel is a tensor of a picture, and the expression that makes it.
type panel struct {
	name string
	t    *tensor.Tensor
}

func (d *drawing) panels(y, n int, list ...panel) error {
	x := 16
	for _, p := range list {
		if err := d.captioned(x, y, n, p.name, p.t); err != nil {
			return err
		}
		cols := p.t.Size(-1)
		x += max(cols*cellSize, 9*max(len(p.name), 16)) + 28
	}
	return nil
}

// views shows that views of one memory differ in their strides.
func views(dev *tensor.Device) (string, error) {
	d := &drawing{}
	x := tensor.Arange(dev, int32(0), 6).Reshape(2, 3)
	d.text(16, 26, "start", ink, "memory of x")
	if err := d.matrix(150, 10, 6, x.FlattenAll()); err != nil {
		return "", err
	}
	err := d.panels(64, 6, panel{"x", x}, panel{"x.T()", x.T()}, panel{"x.Narrow(1, 1, 2)", x.Narrow(1, 1, 2)},
		panel{"x.Step(1, 2)", x.Step(1, 2)})
	return d.svg("One memory, four tensors: x, its transpose, and parts of it"), err
}

// broadcast shows what is repeated where shapes are broadcast.
func broadcast(dev *tensor.Device) (string, error) {
	d := &drawing{}
	col := tensor.Arange(dev, int32(0), 3).Reshape(3, 1)
	row := tensor.Arange(dev, int32(3), 7)
	const n = 7
	if err := d.panels(4, n, panel{"col", col}, panel{"row", row}); err != nil {
		return "", err
	}
	wide, err := d.broadcasts(n, 190, panel{"col.BroadcastTo(3, 4)", col.BroadcastTo(3, 4)}, panel{"row.BroadcastTo(3, 4)", row.BroadcastTo(3, 4)})
	if err != nil {
		return "", err
	}
	d.text(wide, 190+60+cellSize*3/2+5, "start", ink, "col.Add(row) has shape "+fmt.Sprint(col.Add(row).Shape()))
	return d.svg("A column and a row broadcast to one shape; broken edges are elements that no memory was spent on"), col.Add(row).Err()
}

func (d *drawing) broadcasts(n, y int, list ...panel) (end int, err error) {
	x := 16
	for i, p := range list {
		if i > 0 {
			d.text(x-26, y+60+cellSize*3/2+5, "middle", ink, "+")
		}
		if err := d.captioned(x, y, n, p.name, p.t); err != nil {
			return 0, err
		}
		x += max(p.t.Size(-1)*cellSize, 9*len(p.name)) + 52
	}
	return x - 26, nil
}

// reduce shows along what a dimension is summed.
func reduce(dev *tensor.Device) (string, error) {
	d := &drawing{}
	x := tensor.Arange(dev, int32(0), 6).Reshape(2, 3)
	if err := d.matrix(16, 40, 6, x); err != nil {
		return "", err
	}
	d.text(16, 26, "start", ink, "x")
	down, err := tensor.To1[int64](x.Sum(0))
	if err != nil {
		return "", err
	}
	along, err := tensor.To1[int64](x.Sum(1))
	if err != nil {
		return "", err
	}
	const bottom, right = 40 + 2*cellSize, 16 + 3*cellSize
	for j, v := range down {
		at := 16 + j*cellSize
		d.arrow(at+cellSize/2, bottom+6, at+cellSize/2, bottom+34, forward)
		d.cell(at, bottom+38, "#ffffff", fmt.Sprint(v), false)
	}
	d.text(16, bottom+38+cellSize+22, "start", ink, "x.Sum(0)")
	for i, v := range along {
		at := 40 + i*cellSize
		d.arrow(right+6, at+cellSize/2, right+36, at+cellSize/2, forward)
		d.cell(right+40, at, "#ffffff", fmt.Sprint(v), false)
	}
	d.text(right+40+cellSize+12, 40+cellSize+5, "start", ink, "x.Sum(1), or x.Sum(-1)")
	return d.svg("Sums of a matrix along its dimensions 0 and 1"), nil
}

// index shows the two ways in which indices pick elements.
func index(dev *tensor.Device) (string, error) {
	d := &drawing{}
	x := tensor.Arange(dev, int32(0), 12).Reshape(4, 3)
	rows := tensor.From(dev, []int64{2, 0, 2})
	each := tensor.New(dev, [][]int64{{2}, {0}, {1}, {1}})
	const n = 12
	picked, gathered := x.IndexSelect(rows, 0), x.Gather(each, 1)
	at := 16
	for _, p := range []panel{{"x", x}, {"x.IndexSelect([2 0 2], 0)", picked}, {"x.Gather([[2] [0] [1] [1]], 1)", gathered}} {
		d.text(at, 26, "start", ink, p.name)
		if err := d.matrix(at, 40, n, p.t); err != nil {
			return "", err
		}
		at += max(3*cellSize, 9*len(p.name)) + 28
	}
	return d.svg("Whole rows by IndexSelect, an element of each row by Gather"), nil
}

// gradients shows the graph of a loss, and the way back.
func gradients() string {
	d := &drawing{}
	const y, above = 80, 24
	boxes := []struct {
		x, y, width int
		fill, label string
	}{
		{60, 46, 80, "#ddf4ff", "x"}, {60, 114, 80, "#fff8c5", "w (Var)"}, {190, y, 90, "#f6f8fa", "MatMul"},
		{310, y, 70, "#f6f8fa", "Sub"}, {310, above, 70, "#ddf4ff", "y"}, {420, y, 70, "#f6f8fa", "Sqr"}, {530, y, 70, "#f6f8fa", "Mean"},
		{640, y, 70, "#dafbe1", "loss"},
	}
	for _, e := range [][4]int{{100, 50, 144, 74}, {100, 108, 144, 86}, {235, y, 274, y}, {310, above + 14, 310, y - 15}, {345, y, 384, y}, {455, y, 494, y}, {565, y, 604, y}} {
		d.arrow(e[0], e[1], e[2], e[3], forward)
	}
	for _, b := range boxes {
		d.box(b.x, b.y, b.width, b.fill, b.label)
	}
	const back = y + 28
	for _, e := range [][2]int{{640, 532}, {528, 422}, {418, 312}, {308, 192}} {
		d.arrow(e[0], back, e[1]+4, back, backwards)
	}
	d.arrow(188, back+2, 104, 120, backwards)
	for i, label := range []string{"xᵀ·g", "g", "2(x·w−y)·g", "1/n", "1"} {
		d.text([]int{152, 252, 364, 476, 586}[i], back+20, "middle", backwards, label)
	}
	return d.svg("The operations of a loss, forward in blue, and the gradients that go back to the variable in red")
}

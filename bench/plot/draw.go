package main

import (
	"bytes"
	"image/color"
	"math"
	"path/filepath"
	"slices"
	"strconv"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"
)

// colours of series, which people who see no red or no green tell apart (Okabe and Ito).
var colours = []color.Color{
	color.RGBA{0, 114, 178, 255}, color.RGBA{230, 159, 0, 255}, color.RGBA{0, 158, 115, 255},
	color.RGBA{204, 121, 167, 255}, color.RGBA{86, 86, 86, 255},
}

var shapes = []draw.GlyphDrawer{draw.CircleGlyph{}, draw.BoxGlyph{}, draw.TriangleGlyph{}, draw.PyramidGlyph{}, draw.CrossGlyph{}}

const (
	width     = 22 * vg.Centimeter
	rowHeight = 15.0 // points for each row of a table
	frame     = 95.0 // points for title, axis and legend
)

// draw returns the chart as SVG, of results in a folder.
func (c *chart) draw(dir string) ([]byte, error) {
	t, err := readTable(filepath.Join(dir, c.table))
	if err != nil {
		return nil, err
	}
	slices.Reverse(t.rows)                                                // the axis goes up
	plot.DefaultFont = font.Font{Typeface: "Liberation", Variant: "Sans"} // as wide as Arial and Helvetica
	p := plot.New()
	p.Title.Text, p.X.Label.Text = c.title, c.axis
	p.Title.Padding = 6
	p.BackgroundColor = color.White
	p.Legend.Top, p.Legend.TextStyle.Font.Size = true, 10
	p.X.Label.TextStyle.Font.Size, p.Title.TextStyle.Font.Size = 10, 13
	p.Add(grid())
	if c.bars {
		err = c.addBars(p, t)
	} else {
		err = c.addDots(p, t)
	}
	if err != nil {
		return nil, err
	}
	p.NominalY(t.names()...)
	p.Y.Tick.Label.Font.Size = 9
	p.Y.Min, p.Y.Max = -0.7, float64(len(t.rows))-0.3+legendRows(c)
	if c.guide != 0 {
		if err := addGuide(p, c.guide); err != nil {
			return nil, err
		}
	}
	height := vg.Length(rowHeight*(float64(len(t.rows))+legendRows(c)) + frame)
	canvas := vgsvg.New(width, height)
	p.Draw(draw.Crop(draw.New(canvas), 6, -10, 4, -6))
	var b bytes.Buffer
	_, err = canvas.WriteTo(&b)
	return bytes.ReplaceAll(b.Bytes(), []byte("font-family:Liberation Sans;"), []byte("font-family:Arial,Helvetica,Liberation Sans,sans-serif;")), err
}

// legendRows is how much room the legend takes above the rows.
func legendRows(c *chart) float64 { return 0.4 + 0.85*float64(len(c.series)) }

func grid() *plotter.Grid {
	g := plotter.NewGrid()
	g.Horizontal.Width = 0
	return g
}

// addBars draws a bar for each number, from 0 on.
func (c *chart) addBars(p *plot.Plot, t *table) error {
	thick := vg.Length(rowHeight * 0.8 / float64(len(c.series)))
	for i, s := range c.series {
		values, err := t.column(s.least)
		if err != nil {
			return err
		}
		for j, v := range values {
			if math.IsNaN(v) {
				values[j] = 0
			}
		}
		bars, err := plotter.NewBarChart(plotter.Values(values), thick)
		if err != nil {
			return err
		}
		bars.Horizontal, bars.Color, bars.LineStyle.Width = true, colours[i], 0
		bars.Offset = thick * vg.Length(float64(len(c.series)-1)/2-float64(i))
		p.Add(bars)
		p.Legend.Add(s.name, bars)
	}
	p.X.Min = 0
	return nil
}

// addDots draws a dot for each number, and a line from the least to the most.
func (c *chart) addDots(p *plot.Plot, t *table) error {
	p.X.Scale, p.X.Tick.Marker = plot.LogScale{}, decades{c.times}
	for i, s := range c.series {
		least, err := t.column(s.least)
		if err != nil {
			return err
		}
		most, err := t.column(s.most)
		if err != nil {
			return err
		}
		var at plotter.XYs
		for j, v := range least {
			if math.IsNaN(v) {
				continue
			}
			y := float64(j) + 0.3*(float64(len(c.series)-1)/2-float64(i))/float64(len(c.series))*2
			at = append(at, plotter.XY{X: v, Y: y})
			if most[j] == v {
				continue
			}
			at = append(at, plotter.XY{X: most[j], Y: y})
			line, err := plotter.NewLine(at[len(at)-2:])
			if err != nil {
				return err
			}
			line.Color, line.Width = colours[i], 2
			p.Add(line)
		}
		dots, err := plotter.NewScatter(at)
		if err != nil {
			return err
		}
		dots.Color, dots.Shape, dots.Radius = colours[i], shapes[i], 2.6
		p.Add(dots)
		p.Legend.Add(s.name, dots)
	}
	p.X.Min, p.X.Max = p.X.Min/1.15, p.X.Max*1.15
	if c.times {
		p.X.Min = min(p.X.Min, 1)
	}
	return nil
}

// addGuide draws a line up at x.
func addGuide(p *plot.Plot, x float64) error {
	line, err := plotter.NewLine(plotter.XYs{{X: x, Y: p.Y.Min}, {X: x, Y: p.Y.Max}})
	if err != nil {
		return err
	}
	line.Width, line.Dashes = 1, []vg.Length{4, 3}
	p.Add(line)
	return nil
}

// decades labels 1, 2 and 5 of each power of ten, but of a long axis the powers alone.
type decades struct{ times bool }

func (d decades) Ticks(low, high float64) []plot.Tick {
	var ticks []plot.Tick
	steps := []float64{1, 2, 5}
	if high/low > 1000 {
		steps = steps[:1]
	}
	for e := math.Floor(math.Log10(low)); e <= math.Log10(high); e++ {
		for _, s := range steps {
			if v := s * math.Pow(10, e); v >= low && v <= high {
				ticks = append(ticks, plot.Tick{Value: v, Label: d.label(v)})
			}
		}
	}
	return ticks
}

// label writes a number on an axis, one of microseconds in the unit that it is small in.
func (d decades) label(v float64) string {
	unit := ""
	if d.times {
		unit = " µs"
		for _, larger := range []string{" ms", " s"} {
			if v >= 1000 {
				v, unit = v/1000, larger
			}
		}
	}
	return strconv.FormatFloat(v, 'g', 6, 64) + unit
}

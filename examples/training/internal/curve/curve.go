package curve

import (
	"fmt"
	"image/color"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
)

// Write draws the loss of each step, and a moving average of them, into a PNG file.
func Write(path, title string, losses []float64) error {
	p := plot.New()
	p.Title.Text, p.X.Label.Text, p.Y.Label.Text = title, "step", "loss"
	p.BackgroundColor = color.White
	p.Legend.Top = true
	p.Add(plotter.NewGrid())
	light, dark := color.RGBA{170, 205, 230, 255}, color.RGBA{0, 114, 178, 255}
	for _, l := range []struct {
		name  string
		ys    []float64
		width vg.Length
		color color.Color
	}{{"each step", losses, 1, light}, {"average", smooth(losses), 2, dark}} {
		points := make(plotter.XYs, len(l.ys))
		for i, y := range l.ys {
			points[i] = plotter.XY{X: float64(i + 1), Y: y}
		}
		line, err := plotter.NewLine(points)
		if err != nil {
			return fmt.Errorf("draw %s: %w", path, err)
		}
		line.Width, line.Color = l.width, l.color
		p.Add(line)
		p.Legend.Add(l.name, line)
	}
	return p.Save(16*vg.Centimeter, 10*vg.Centimeter, path)
}

// smooth is an exponential average without the bias of its first numbers.
func smooth(xs []float64) []float64 {
	out := make([]float64, len(xs))
	sum, weight := 0.0, 0.0
	for i, x := range xs {
		sum, weight = 0.95*sum+0.05*x, 0.95*weight+0.05
		out[i] = sum / weight
	}
	return out
}

package digitset

import (
	"context"

	"github.com/gokiln/kiln/nn"
	"github.com/gokiln/kiln/nn/data"
	"github.com/gokiln/kiln/nn/loss"
	"github.com/gokiln/kiln/nn/optim"
	"github.com/gokiln/kiln/tensor"
)

// Step is one step of training a network that gives scores of the ten digits. It returns the loss.
func Step(net nn.Layer, opt *optim.Optimizer, batch data.Pair) (float64, error) {
	l := loss.CrossEntropy(net.Forward(batch.X), batch.Y, loss.CrossEntropyOptions{})
	grads, err := l.Backward()
	if err != nil {
		return 0, err
	}
	if err := opt.Step(grads); err != nil {
		return 0, err
	}
	x, err := tensor.To0[float32](l)
	return float64(x), err
}

// Accuracy is the share of images whose digit has the highest score. The network, which is set to
// inference mode, takes images of a shape.
func Accuracy(ctx context.Context, net nn.Layer, dev *tensor.Device, test data.Dataset[data.Labeled], shape ...int) (float64, error) {
	if err := nn.SetTraining(net, false); err != nil {
		return 0, err
	}
	loader, err := data.NewLoader(test, data.Classify(dev, shape...), data.Options{Batch: 120})
	if err != nil {
		return 0, err
	}
	right := 0.0
	for batch, err := range loader.Epoch(ctx) {
		if err != nil {
			return 0, err
		}
		hits, err := net.Forward(batch.X.NoGrad()).ArgMax(1).Eq(batch.Y).Cast(tensor.F32).Sum().Float64s()
		if err != nil {
			return 0, err
		}
		right += hits[0]
	}
	return right / float64(test.Len()), nil
}

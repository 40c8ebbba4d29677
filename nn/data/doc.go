// Package data feeds training: datasets, and a loader that makes batches of them in the background.
//
//	set, err := data.NewWindows(tokens, 256, 256) // of a text, for a language model
//	loader, err := data.NewLoader(set, data.NextToken[int32](dev), data.Options{Batch: 32, Shuffle: true})
//	for batch, err := range loader.Batches(ctx) {
//		if err != nil {
//			return err
//		}
//		loss := cost(net.Forward(batch.X), batch.Y)
//		…
//	}
//
// # The model
//
// A [Dataset] has samples by number. A [Loader] divides them into batches, in order or shuffled
// anew in each epoch, and worker goroutines read and collate batches ahead of the one in use:
// [Options] says how many. Batches arrive in their order, however many workers there are. A
// [Collate] makes a batch of samples; those of this package put it on a device, so that copies
// there run ahead, too.
//
// # Order and position
//
// The order follows from the seed and the number of the epoch alone. [Loader.Position] is where the
// loop is, whatever was read ahead, and [Loader.Seek] has another loader go on there with the same
// batches: package train saves it in a checkpoint. What is random in a [Collate] comes from the
// generator that it is given, which follows from seed, epoch and batch.
//
// # End and errors
//
// [Loader.Epoch] ends with the epoch, [Loader.Batches] goes on until the loop is left. The first
// error of a dataset or a collate, in the order of batches, or of a context that is cancelled, is
// the last thing that a loop sees. No goroutine is left behind a loop, however it ends.
package data

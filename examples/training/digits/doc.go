// Command digits trains a small convolutional network to read handwritten digits, tests it with
// digits that it has not seen, and draws the loss. From the root of the repository:
//
//	go run -C examples/training ./digits
//	go run -C examples/training ./digits -checkpoint digits.safetensors
//
// With -checkpoint it saves after each epoch, and goes on there when it is started again: with the
// same bits as if it had never been stopped.
package main

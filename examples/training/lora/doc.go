// Command lora teaches a network something new by a few parameters more: low-rank adapters (Hu et
// al., 2021). From the root of the repository:
//
//	go run -C examples/training ./lora
//
// A network learns to read handwritten digits, and then, from 300 images, to read them in a mirror:
// once by adapters of rank 4 beside weights that stay as they are. The adapters are saved by
// themselves, loaded into a copy of the first network, and merged into its weights.
package main

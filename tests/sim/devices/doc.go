// Package devices has the devices that tests of tensors run on, simulated ones among them.
package devices

/*
 * `virt-controller render`: manifests of VirtualMachines and the like in, the exact launcher Pods out, without a
 * cluster. What a cluster would look up comes from files (--with). Pure: the same input gives the same bytes.
 */
#ifndef CMD_VIRT_CONTROLLER_RENDER_H
#define CMD_VIRT_CONTROLLER_RENDER_H

/* argv[0] is the sub-command's name. Returns the exit status: 0; 1 for bad input; 2 when --diff found differences. */
int render_main(int argc, char **argv);

#endif

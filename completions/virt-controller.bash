# bash completion for virt-controller. Flags come from the program's own --help, so that both agree.

_virt_controller() {
    local cur=$2 prev=$3 help=(--help)
    [ "${COMP_WORDS[1]}" = render ] && help=(render --help)
    COMPREPLY=()
    case $prev in
    --kubeconfig | --prom-cert-file | --prom-key-file | --filename | --with | --kubevirt | --diff | -f)
        mapfile -t COMPREPLY < <(compgen -f -- "$cur")
        return
        ;;
    --ephemeral-disk-dir | --container-disk-dir | --hotplug-disk-dir | --kubevirt-share-dir)
        mapfile -t COMPREPLY < <(compgen -d -- "$cur")
        return
        ;;
    --leader-elect-resource-lock)
        mapfile -t COMPREPLY < <(compgen -W leases -- "$cur")
        return
        ;;
    --output | -o)
        mapfile -t COMPREPLY < <(compgen -W "yaml json" -- "$cur")
        return
        ;;
    esac
    if [[ $cur == -* ]]; then
        local flags
        flags=$("${COMP_WORDS[0]}" "${help[@]}" 2>/dev/null | grep -oE '^ {2,6}(-[a-z], )?--[a-z0-9-]+' | grep -oE -- '--[a-z0-9-]+')
        mapfile -t COMPREPLY < <(compgen -W "$flags" -- "$cur")
    elif [ "$COMP_CWORD" = 1 ]; then
        mapfile -t COMPREPLY < <(compgen -W render -- "$cur")
    elif [ "${help[0]}" = render ]; then
        mapfile -t COMPREPLY < <(compgen -f -- "$cur")
    fi
}
complete -o filenames -F _virt_controller virt-controller

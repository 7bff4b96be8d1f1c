_kafka_groups_completion() {
    local program=$1 values
    [[ $program == "~/"* ]] && program=$HOME/${program:2}
    mapfile -t values < <(
        _KAFKA_GROUPS_COMPLETE=bash_complete "$program" "${COMP_LINE:0:COMP_POINT}" "$COMP_WORDBREAKS" 2>/dev/null
    )
    case ${values[0]-} in
        dir) compopt -o dirnames ;;
        file) compopt -o default ;;
        prefix) compopt -o nospace ;;&
        *) COMPREPLY=("${values[@]:1}") ;;
    esac
}

complete -F _kafka_groups_completion kafka-groups

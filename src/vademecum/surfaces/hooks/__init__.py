"""surfaces/hooks"""
